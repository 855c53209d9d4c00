import { expect, test } from 'vitest';
import { explainFailure, explainLauncherFailure } from './explain-failure.ts';

/** Files of a host, by path. */
type Host = Readonly<Record<string, string>>;

const CLONE = '/proc/sys/kernel/unprivileged_userns_clone';
const MOST = '/proc/sys/user/max_user_namespaces';
const APPARMOR = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns';
const STATUS = '/proc/self/status';

const REFUSED =
  'bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.\n';
const OLDER_REFUSED =
  "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.\n";
const USED_UP =
  'bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)\n';

function explain(said: string, host: Host = {}) {
  return explainFailure(said, (path) => host[path]);
}

test.each<[string, Host, RegExp, RegExp]>([
  [
    'bwrap: setting up uid map: Permission denied\n',
    { [APPARMOR]: '1\n' },
    /^AppArmor restricts/,
    /bwrap-userns-restrict/,
  ],
  [
    'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n',
    { [APPARMOR]: '1\n' },
    /^AppArmor/,
    /apparmor_parser/,
  ],
  ['bwrap: setting up uid map: Permission denied\n', {}, /security module/, /profile that allows userns/],
  ['bwrap: Creating new namespace failed: Permission denied\n', { [APPARMOR]: '1\n' }, /^AppArmor/, /apparmor/],
  ['bwrap: Failed to make / slave: Permission denied\n', { [APPARMOR]: '1\n' }, /^AppArmor/, /apparmor/],
  [
    REFUSED,
    { [CLONE]: '0\n' },
    /kernel\.unprivileged_userns_clone = 0/,
    /sysctl -w kernel\.unprivileged_userns_clone=1/,
  ],
  [OLDER_REFUSED, { [CLONE]: '0\n' }, /kernel\.unprivileged_userns_clone = 0/, /sysctl/],
  [REFUSED, { [CLONE]: '1\n', [MOST]: '0\n' }, /user\.max_user_namespaces = 0/, /sysctl -w user\.max_user_namespaces/],
  [REFUSED, { [STATUS]: 'Name:\tnode\nSeccomp:\t2\n' }, /filter of the container/, /seccomp=unconfined/],
  [REFUSED, { [STATUS]: 'Name:\tnode\nSeccomp:\t0\n' }, /refuses new namespaces to this user/, /container/],
  [USED_UP, { [MOST]: '0\n' }, /user\.max_user_namespaces = 0/, /sysctl -w user/],
  [USED_UP, { [MOST]: '96343\n' }, /outer sandbox/, /outside of other sandboxes/],
  [
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted\n",
    {},
    /\/proc of its own/,
    /systempaths=unconfined/,
  ],
  ['bwrap: Unknown option --disable-userns\n', {}, /too old/, /0\.8 or newer/],
  ['bwrap: Unknown option --size\n', {}, /too old/, /0\.8 or newer/],
  ['bwrap: The --size option is not permitted in setuid mode\n', {}, /setuid root/, /chmod u-s/],
  [
    'bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  bwrap must be installed setuid on such systems.\n',
    {},
    /kernel has no user namespaces/,
    /CONFIG_USER_NS/,
  ],
  [
    'bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system\n',
    {},
    /cannot be forbidden/,
    /systempaths/,
  ],
  [
    'bwrap: Unable to set up system call filtering as requested: prctl(PR_SET_SECCOMP) reported EINVAL. (Hint: this requires a kernel configured with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.)\n',
    {},
    /no seccomp filter/,
    /CONFIG_SECCOMP/,
  ],
  ['bwrap: pivot_root: Operation not permitted\n', {}, /Mounting is refused/, /apparmor=unconfined/],
])('%j on %j is unsupported', (said, host, reason, fix) => {
  expect(explain(said, host)).toEqual({
    kind: 'unsupported',
    reason: expect.stringMatching(reason),
    fix: expect.stringMatching(fix),
  });
});

test.each<[string, RegExp]>([
  ["bwrap: Can't find source path /srv/data: No such file or directory\n", /went away/],
  ["bwrap: Can't find source path /srv/data: Permission denied\n", /cannot enter/],
  ["bwrap: Can't bind mount /oldroot/usr on /newroot/usr: No space left on device\n", /no room for another mount/],
  ["bwrap: Can't write data to file /etc/hosts: No space left on device\n", /no room left/],
  ['bwrap: Creating new namespace failed: Resource temporarily unavailable\n', /run out of/],
])('%j is a failure of the moment, and names no path of the host', (said, reason) => {
  const explained = explain(said);
  expect(explained).toMatchObject({ kind: 'failed', reason: expect.stringMatching(reason) });
  expect(JSON.stringify(explained)).not.toContain('/srv');
});

test('what is not known is not explained', () => {
  expect([explain(''), explain('bwrap: Something new\n')]).toEqual([undefined, undefined]);
});

test.each<[string, string | undefined]>([
  ["a path cannot be given to the tool's user: Invalid argument", 'unsupported'],
  // Uninstalled, or exchanged for a link: nothing of which the host would have to be another one.
  ["a path cannot be given to the tool's user: No such file or directory", 'failed'],
  ["a path cannot be given to the tool's user: Too many levels of symbolic links", 'failed'],
  ['ids cannot be mapped: Operation not permitted', 'unsupported'],
  ['a mount namespace cannot be made: Operation not permitted', 'unsupported'],
  ['a mount namespace cannot be made: No space left on device', 'unsupported'],
  ['a mount namespace cannot be made: Invalid argument', 'unsupported'],
  ['a mount namespace cannot be made: Cannot allocate memory', 'failed'],
  ['a mount namespace cannot be made: No such file or directory', undefined],
  ['mounts cannot be made private: Permission denied', 'unsupported'],
  ['Landlock refused the rules: Argument list too long', 'unsupported'],
  ['no process can be made: Resource temporarily unavailable', 'failed'],
  ['/usr/bin/mount could not be executed: Permission denied', undefined],
])('of the launcher, %j is %s', (message, kind) => {
  expect(explainLauncherFailure(message, () => undefined)?.kind).toBe(kind);
});

test.each<[string, Host, RegExp, RegExp]>([
  ['a mount namespace cannot be made: No space left on device', { [MOST]: '0\n' }, /max_user_namespaces = 0/, /sysctl/],
  ['a mount namespace cannot be made: Operation not permitted', { [CLONE]: '0\n' }, /unprivileged_userns/, /sysctl/],
  ['a mount namespace cannot be made: Permission denied', { [APPARMOR]: '1\n' }, /^AppArmor/, /palyra-launcher/],
  [
    'mounts cannot be made private: Permission denied',
    { [APPARMOR]: '1\n' },
    /^AppArmor/,
    /restrict_unprivileged_userns=0/,
  ],
])('of the launcher, %j is explained as what bubblewrap says of it', (message, host, reason, fix) => {
  const explained = explainLauncherFailure(message, (path) => host[path]);
  expect(explained).toMatchObject({ reason: expect.stringMatching(reason), fix: expect.stringMatching(fix) });
});
