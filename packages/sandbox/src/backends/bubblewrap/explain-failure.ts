/** Why there is no sandbox, and what to do about it. */
export interface Explanation {
  /** `unsupported`: this host does not allow it. `failed`: it would, had something else not been in the way. */
  readonly kind: 'unsupported' | 'failed';
  readonly reason: string;
  readonly fix: string;
}

/** Text files of the host's /proc; undefined for what is not there. */
export type ReadHostText = (path: string) => string | undefined;

/**
 * What bubblewrap printed before it gave up, explained. Undefined for what is not known. Nothing of a tool is in that
 * text, for nothing of it ran; what bubblewrap quotes in it is not repeated.
 */
export function explainFailure(said: string, readText: ReadHostText): Explanation | undefined {
  const rule = RULES.find(({ pattern }) => pattern.test(said));
  return rule?.explain(readText);
}

/** The same for what the launcher could not do before bubblewrap's turn; the text is the launcher's own. */
export function explainLauncherFailure(message: string, readText: ReadHostText): Explanation | undefined {
  // An ordinary user's launcher makes a user namespace before bubblewrap does, where the host's mounts are shared (systemd).
  if (message.startsWith('a mount namespace cannot be made: No space left')) return namespacesUsedUp(readText);
  if (message.startsWith('a mount namespace cannot be made: Invalid argument')) return NO_KERNEL;
  if (/^a mount namespace cannot be made: (?:Operation not|Permission)/.test(message))
    return namespacesRefused(readText);
  if (/^mounts cannot be made private: (?:Operation not|Permission)/.test(message)) return mountsRefused(readText);
  if (message.startsWith('a mount namespace cannot be made: Cannot allocate')) return EXHAUSTED;
  if (/^a path cannot be given .*: (?:No such file|Not a directory|Too many levels)/.test(message)) return SOURCE_GONE;
  if (/^(?:ids cannot be mapped|a path cannot be given to the tool's user)/.test(message)) return NO_IDMAP;
  if (message.startsWith('Landlock ')) return NO_LANDLOCK;
  if (message.startsWith('no process can be made')) return EXHAUSTED;
  return undefined;
}

interface Rule {
  readonly pattern: RegExp;
  explain(readText: ReadHostText): Explanation;
}

/** The first that matches decides: texts of bubblewrap 0.3 to 0.11, with the error of the kernel at their end. */
const RULES: readonly Rule[] = [
  { pattern: /Unknown option --(?:disable-userns|size|perms)/, explain: () => TOO_OLD },
  { pattern: /in setuid mode|not supported in setuid|setuid use of bubblewrap/i, explain: () => SETUID },
  { pattern: /max_\*_namespaces exceeded|Creating new namespace failed: No space left/, explain: namespacesUsedUp },
  { pattern: /No permissions to creat(?:e|ing) (?:a )?new namespace/, explain: namespacesRefused },
  {
    pattern: /Creating new namespace failed: (?:Operation not permitted|Permission denied)/,
    explain: namespacesRefused,
  },
  {
    pattern: /the kernel does not support user namespaces|Creating new namespace failed: Invalid/,
    explain: () => NO_KERNEL,
  },
  { pattern: /setting up [ug]id map: |error writing to setgroups: /, explain: namespacesPowerless },
  { pattern: /loopback: .*Operation not permitted/, explain: namespacesPowerless },
  { pattern: /max_user_namespaces|user namespaces was not disabled/, explain: () => NOT_DISABLED },
  { pattern: /Can't mount proc on \S+: (?:Operation not permitted|Permission denied)/, explain: () => MASKED_PROC },
  { pattern: /system call filtering as requested|prctl\(PR_SET_SECCOMP\)/, explain: () => NO_SECCOMP },
  { pattern: /mount.*: No space left on device/i, explain: () => TOO_MANY_MOUNTS },
  { pattern: /: No space left on device/, explain: () => NO_SPACE },
  { pattern: /Can't find source path .*: Permission denied/, explain: () => SOURCE_HIDDEN },
  { pattern: /Can't find source path /, explain: () => SOURCE_GONE },
  {
    pattern: /: (?:Too many open files|Cannot allocate memory|Resource temporarily unavailable)/,
    explain: () => EXHAUSTED,
  },
  { pattern: /(?:mount|slave|pivot_root).*: (?:Operation not permitted|Permission denied)/i, explain: mountsRefused },
];

/** The kernel said no to the namespace itself: which of several doors is closed, the host's settings tell. */
function namespacesRefused(readText: ReadHostText): Explanation {
  if (setting(readText, 'kernel/unprivileged_userns_clone') === '0') {
    return unsupported(
      'User namespaces are off for ordinary users (kernel.unprivileged_userns_clone = 0).',
      'As root: sysctl -w kernel.unprivileged_userns_clone=1, and the same in a file of /etc/sysctl.d.',
    );
  }
  if (setting(readText, 'user/max_user_namespaces') === '0') return namespacesUsedUp(readText);
  if (isFiltered(readText)) return CONTAINER;
  if (isRestricted(readText)) return APPARMOR;
  return unsupported(
    'The kernel refuses new namespaces to this user.',
    "In a container, start it with --security-opt seccomp=unconfined; else see the kernel's log for what refused it.",
  );
}

function namespacesUsedUp(readText: ReadHostText): Explanation {
  if (setting(readText, 'user/max_user_namespaces') === '0') {
    return unsupported(
      'User namespaces are off (user.max_user_namespaces = 0).',
      'As root: sysctl -w user.max_user_namespaces=15000, and the same in a file of /etc/sysctl.d.',
    );
  }
  return unsupported(
    'There may be no further namespace here: one of user.max_*_namespaces is reached, or an outer sandbox forbids it.',
    'Run palyrad outside of other sandboxes, or raise those limits as root with sysctl.',
  );
}

/** The namespace is there, but without power in it: that is how AppArmor restricts them. */
function namespacesPowerless(readText: ReadHostText): Explanation {
  if (isRestricted(readText)) return APPARMOR;
  return unsupported(
    'A user namespace can be made here, but gives no rights inside: a security module (AppArmor, SELinux) holds it back.',
    "Give bwrap a profile that allows userns; the kernel's log names the module that refused.",
  );
}

function mountsRefused(readText: ReadHostText): Explanation {
  if (isRestricted(readText)) return APPARMOR;
  return unsupported(
    'Mounting is refused, even in a mount namespace of its own: a container or a security module holds it back.',
    'In a container, start it with --security-opt apparmor=unconfined --security-opt seccomp=unconfined.',
  );
}

function setting(readText: ReadHostText, name: string): string | undefined {
  return readText(`/proc/sys/${name}`)?.trim();
}

function isRestricted(readText: ReadHostText): boolean {
  return setting(readText, 'kernel/apparmor_restrict_unprivileged_userns') === '1';
}

/** We ourselves are under a filter: then a container's, for bubblewrap's own comes later. */
function isFiltered(readText: ReadHostText): boolean {
  return /^Seccomp:\s*2$/m.test(readText('/proc/self/status') ?? '');
}

function unsupported(reason: string, fix: string): Explanation {
  return { kind: 'unsupported', reason, fix };
}

function failed(reason: string, fix: string): Explanation {
  return { kind: 'failed', reason, fix };
}

const APPARMOR: Explanation = unsupported(
  'AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns = 1, as Ubuntu has it since 23.10).',
  'As root: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and the same in a file of /etc/sysctl.d. Or allow ' +
    'them to two programs only, each by a profile in /etc/apparmor.d that apparmor_parser -r loads: bwrap by ' +
    '/usr/share/apparmor/extra-profiles/bwrap-userns-restrict (package apparmor-profiles), palyra-launcher by one with flags=(unconfined) and `userns,`.',
);

const CONTAINER: Explanation = unsupported(
  'The seccomp filter of the container that this runs in refuses new namespaces.',
  'Start the container with --security-opt seccomp=unconfined --security-opt systempaths=unconfined.',
);

const TOO_OLD: Explanation = unsupported(
  'This bubblewrap is too old: it cannot forbid nested user namespaces, or has no sized tmpfs.',
  'Install bubblewrap 0.8 or newer.',
);

const SETUID: Explanation = unsupported(
  'This bubblewrap is installed setuid root, and in that mode cannot do what a sandbox needs.',
  'As root: chmod u-s on the bwrap program, and allow user namespaces.',
);

const NO_KERNEL: Explanation = unsupported(
  'This kernel has no user namespaces, or not all of the others.',
  'Use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS, CONFIG_IPC_NS, CONFIG_UTS_NS and CONFIG_CGROUPS.',
);

const NOT_DISABLED: Explanation = unsupported(
  'Nested user namespaces cannot be forbidden here: /proc/sys/user is not writable, as in many containers.',
  'Start the container with --security-opt systempaths=unconfined.',
);

const MASKED_PROC: Explanation = unsupported(
  'A /proc of its own is refused, because parts of the one out here are hidden, as in many containers.',
  'Start the container with --security-opt systempaths=unconfined (podman: unmask=ALL), and seccomp=unconfined.',
);

const NO_SECCOMP: Explanation = unsupported(
  'This kernel takes no seccomp filter.',
  'Use a kernel with CONFIG_SECCOMP and CONFIG_SECCOMP_FILTER.',
);

const NO_IDMAP: Explanation = unsupported(
  "The workspace is root's, and its file system cannot be shown to a tool as another user's (idmapped mounts).",
  'Give the workspace to an ordinary user (chown), or put it on ext4, xfs or btrfs; Linux 5.12 or newer.',
);

const NO_LANDLOCK: Explanation = unsupported(
  'Landlock refuses the rules that keep a Tier B tool away from credentials.',
  'Use Tier C, or a newer kernel.',
);

const TOO_MANY_MOUNTS: Explanation = failed(
  'The mount namespace has no room for another mount (fs.mount-max).',
  'Mount less on this host, or raise it as root: sysctl -w fs.mount-max=200000.',
);

const NO_SPACE: Explanation = failed('There is no room left on this host.', 'Free disk space or memory.');

const SOURCE_GONE: Explanation = failed(
  'A path that the profile makes visible went away just now.',
  'Make it again, or take it out of the profile.',
);

const SOURCE_HIDDEN: Explanation = failed(
  "A path that the profile makes visible lies in a directory that the tool's user cannot enter.",
  'Let that user enter it (chmod o+x), or take it out of the profile.',
);

const EXHAUSTED: Explanation = failed(
  'This host has run out of processes, memory or open files.',
  'End what uses them, or raise the limits of palyrad.',
);
