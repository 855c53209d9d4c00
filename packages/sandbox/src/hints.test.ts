import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MeasuredFacts } from './facts/measured-facts.ts';
import { type HintKind, hintsFor } from './hints.ts';
import type { Ran, RunResult } from './run-result.ts';

const ran = (stderr: string, stdout = ''): Ran => ({
  executor: 'test',
  enforcement: { fileSystem: 'isolated', network: 'isolated' },
  output: { stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) },
  usage: { wallMs: 1, userMs: 1, systemMs: 1, maxRssBytes: 1, outputBytes: 1 },
  facts: undefined,
  protectedChanged: [],
  startedAt: 0,
  pooled: false,
  endedAt: 1,
});
const failed = (stderr: string, stdout = ''): RunResult => ({ kind: 'completed', exitCode: 1, ...ran(stderr, stdout) });
const kinds = (result: RunResult) => hintsFor(result).map(({ kind }) => kind);

/** As the tools said it in a Tier C sandbox. */
const SAID: readonly (readonly [HintKind, string])[] = [
  ['network', 'curl: (6) Could not resolve host: example.org'],
  ['network', "curl: (7) Failed to connect to 192.0.2.1 port 80 after 0 ms: Couldn't connect to server"],
  ['network', 'urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>'],
  ['network', '[cause]: Error: getaddrinfo EAI_AGAIN example.org'],
  ['network', 'npm error network request failed, reason: getaddrinfo ENOTFOUND example.org'],
  ['network', 'ssh: Could not resolve hostname example.org: Temporary failure in name resolution'],
  ['network', 'ERROR: No matching distribution found for left'],
  ['network', 'go: dial tcp: lookup example.org: no such host'],
  ['read_only', "touch: cannot touch '/etc/x': Read-only file system"],
  ['read_only', 'npm error rofs EROFS: read-only file system, symlink'],
  ['unix_sockets', 'Error: listen EAFNOSUPPORT: address family not supported /tmp/tsx-1000/2.pipe'],
  ['unix_sockets', 'OSError: [Errno 97] Address family not supported by protocol'],
  ['git_identity', 'Author identity unknown\n\n*** Please tell me who you are.\n'],
  ['hidden_home', 'cat: /home/palyra/.ssh/id_ed25519: No such file or directory'],
  ['system_packages', 'E: Could not open lock file /var/lib/dpkg/lock-frontend - open (2: No such file or directory)'],
  ['system_packages', 'error: externally-managed-environment'],
  ['containers', 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?'],
  ['containers', 'bash: line 1: docker: command not found'],
  ['system_services', "System has not been booted with systemd as init system (PID 1). Can't operate."],
  ['privileges', 'bash: line 1: sudo: command not found'],
  ['privileges', 'sudo: The "no new privileges" flag is set, which prevents sudo from running as root.'],
  ['privileges', 'mount: /tmp: must be superuser to use mount.'],
  ['privileges', 'su: Critical error - immediate abort'],
  ['tracing', 'strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted'],
  ['tracing', 'warning: ptrace: Operation not permitted'],
  ['sanitizer', '==2==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 (15392894357504) bytes (errno: 12)'],
  ['sanitizer', '==2==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)'],
  ['nested_sandbox', 'unshare: unshare failed: Operation not permitted'],
  ['nested_sandbox', 'bwrap: No permissions to create new namespace, likely because the kernel does not allow it'],
  ['nested_sandbox', '[1:1:ERROR:zygote_host_impl_linux.cc(132)] No usable sandbox! If this is a Debian system'],
  ['set_id', "chmod: changing permissions of 't': Operation not permitted"],
  ['ownership', "chown: changing ownership of 'z': Invalid argument"],
  ['low_port', 'Error: listen EACCES: permission denied 127.0.0.1:80'],
  ['limit', "head: error writing 'standard output': No space left on device"],
  ['limit', 'Error: EMFILE: too many open files, open'],
  ['limit', 'bash: fork: retry: Resource temporarily unavailable'],
  ['limit', 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory'],
  ['protected_path', "mv: cannot move '.git' to 'g': Device or resource busy"],
  ['protected_path', "ln: failed to create hard link 'zz' => '.git/config': Invalid cross-device link"],
  ['program_missing', 'bash: line 1: go: command not found'],
  ['program_missing', 'sh: 1: go: not found'],
];

describe('a failure names its fix', () => {
  test.each([
    'sh: 1: cannot create CLAUDE.md: Read-only file system',
    "Error: EROFS: read-only file system, open '/w/.git/hooks/pre-commit'".replace(/^(.*), (.*)$/, '$2: $1'),
  ])('a protected path comes before the wider reason: %s', (text) => {
    expect(kinds(failed(text))).toEqual(['protected_path', 'read_only']);
  });

  test.each(SAID)('%s: %s', (kind, text) => {
    expect(kinds(failed(text))).toEqual([kind]);
    expect(kinds(failed('', `started\n${text}\n`))).toEqual([kind]);
  });

  test('the rule for a loopback server that is not up yet is not the network’s', () => {
    expect(
      kinds(failed("curl: (7) Failed to connect to localhost port 80 after 0 ms: Couldn't connect to server")),
    ).toEqual([]);
    expect(kinds(failed('connect ECONNREFUSED 127.0.0.1:3000'))).toEqual([]);
  });

  test('an ordinary failure has none', () => {
    expect(kinds(failed('AssertionError: expected 1 to be 2'))).toEqual([]);
    expect(kinds(failed('cat: notes.txt: No such file or directory'))).toEqual([]);
  });

  test('whoever succeeds, is cancelled or was refused gets none', () => {
    const text = 'curl: (6) Could not resolve host: example.org';
    expect(kinds({ kind: 'completed', exitCode: 0, ...ran(text) })).toEqual([]);
    expect(kinds({ kind: 'cancelled', ...ran(text) })).toEqual([]);
    expect(kinds({ kind: 'lost', ...ran(text) })).toEqual([]);
    expect(kinds({ kind: 'refused', code: 'sandbox.invalid_command', message: text, fix: 'x' })).toEqual([]);
  });

  test('the limit that ended it is named, and what it waited for', () => {
    expect(hintsFor({ kind: 'quota_exceeded', quota: 'disk', ...ran('') })).toEqual([
      {
        kind: 'limit',
        what: 'It wrote more into /tmp, /dev/shm or the home than the profile allows.',
        fix: 'Use less, or raise limits.tmpfsBytes in the profile.',
        limit: 'tmpfsBytes',
      },
    ]);
    expect(kinds({ kind: 'timed_out', limit: 'wall', ...ran('getaddrinfo EAI_AGAIN example.org') })).toEqual([
      'limit',
      'network',
    ]);
  });

  test('only the end of long output counts, and at most three hints come of it', () => {
    expect(kinds(failed(`EROFS\n${'.'.repeat(70_000)}`))).toEqual([]);
    expect(kinds(failed(SAID.map(([, text]) => text).join('\n')))).toHaveLength(3);
  });
});

describe('with a way out', () => {
  const proxied = (text: string): RunResult =>
    ({
      ...failed(text),
      facts: { listener: 'passed' } as MeasuredFacts,
    }) as RunResult;
  const fixes = (text: string) => hintsFor(proxied(text)).map(({ fix }) => fix);

  test('who looks for the network itself is told what to set', () => {
    const [fix = ''] = fixes('urllib.error.URLError: <urlopen error [Errno 101] Network is unreachable>');
    expect(fix).toContain('http://127.0.0.1:3128');
    expect(fix).toContain('socks5h://127.0.0.1:3128');
    for (const [kind, text] of SAID) expect(kinds(proxied(text))).toEqual([kind]);
  });

  test.each([
    'curl: (56) CONNECT tunnel failed, response 403',
    'curl: (56) Received HTTP code 403 from proxy after CONNECT',
    'OSError: Tunnel connection failed: 403 Forbidden',
    'npm error 403 403 Forbidden - proxy denied',
  ])('a denial is one: %s', (text) => {
    expect(fixes(text)).toEqual(['Ask for the host: what the proxy answered says which rule is missing.']);
    expect(kinds(failed(text))).toEqual([]);
  });

  test.each([
    "curl: (7) Failed to connect to 127.0.0.1 port 3128 after 0 ms: Couldn't connect to server",
    'Error: connect ECONNREFUSED 127.0.0.1:3128',
  ])('a proxy that is gone is said to be: %s', (text) => {
    expect(fixes(text)).toEqual(['Run it again.']);
    expect(kinds(failed(text))).toEqual([]);
  });
});

test('nothing that a tool prints is repeated', () => {
  const ours = new Set(SAID.flatMap(([, text]) => hintsFor(failed(text)).map(({ what, fix }) => `${what} ${fix}`)));
  fc.assert(
    fc.property(fc.constantFrom(...SAID), fc.string(), fc.string(), ([, text], before, after) => {
      const hints = hintsFor(failed(`${before}\n${text}\n${after}`));
      expect(hints.length).toBeGreaterThan(0);
      for (const { what, fix } of hints) expect(ours).toContain(`${what} ${fix}`);
    }),
  );
});
