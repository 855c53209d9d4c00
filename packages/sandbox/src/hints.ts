import { BOX_USER } from './backends/bubblewrap/box-files.ts';
import { PROXY_PORT } from './launcher/wire.ts';
import type { Limits } from './profile.ts';
import { PROTECTED_NAMES } from './protect/protected-names.ts';
import type { Quota, Ran, RunResult } from './run-result.ts';

/** Why a command probably failed that would not have outside, and what to do about it. */
export interface Hint {
  readonly kind: HintKind;
  readonly what: string;
  readonly fix: string;
  /** Of the profile: which one it ran into. */
  readonly limit?: keyof Limits;
}

export type HintKind =
  | 'network'
  | 'read_only'
  | 'protected_path'
  | 'unix_sockets'
  | 'git_identity'
  | 'hidden_home'
  | 'system_packages'
  | 'containers'
  | 'system_services'
  | 'privileges'
  | 'sanitizer'
  | 'tracing'
  | 'nested_sandbox'
  | 'set_id'
  | 'ownership'
  | 'low_port'
  | 'program_missing'
  | 'limit';

/** More are of no help: the first ones are the likely ones. */
const MOST_HINTS = 3;
/** Programs say last why they gave up. */
const LOOKED_AT = 64 * 1024;

/** A guess, from what the command printed; nothing for one that succeeded, nor for a refusal, which has its own fix. */
export function hintsFor(result: RunResult): readonly Hint[] {
  switch (result.kind) {
    case 'completed':
      return result.exitCode === 0 ? [] : fromOutput(result);
    case 'signalled':
      return fromOutput(result);
    case 'quota_exceeded':
      return [QUOTAS[result.quota]];
    case 'timed_out':
      return [result.limit === 'wall' ? TOO_LONG : TOO_SILENT, ...fromOutput(result)].slice(0, MOST_HINTS);
    case 'cancelled':
    case 'lost':
    case 'refused':
    case 'failed_to_start':
      return [];
  }
}

// SECURITY: T-08 — the text is the tool's, who may print anything to be given more: what it says chooses among our own
// sentences and is never repeated in one.
function fromOutput({ output: { stdout, stderr }, facts }: Pick<Ran, 'output' | 'facts'>): readonly Hint[] {
  const said = `${endOf(stderr)}\n${endOf(stdout)}`;
  const rules =
    facts?.listener === 'passed' ? [...PROXIED, ...RULES.filter(({ hint }) => hint.kind !== 'network')] : RULES;
  return rules
    .filter(({ patterns }) => patterns.some((pattern) => pattern.test(said)))
    .map(({ hint }) => hint)
    .slice(0, MOST_HINTS);
}

function endOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.subarray(-LOOKED_AT)).toString('latin1');
}

interface Rule {
  readonly hint: Hint;
  readonly patterns: readonly RegExp[];
}

function rule(kind: HintKind, [what, fix]: readonly [what: string, fix: string], ...patterns: readonly RegExp[]): Rule {
  return { hint: { kind, what, fix }, patterns };
}

/** A line that names a protected path and says that it cannot be written. */
const PROTECTED_AND_READ_ONLY = new RegExp(
  `^.*(?:/hooks/|${PROTECTED_NAMES.map(({ name }) => name.replace(/[.]/g, '\\.')).join('|')}).*(?:EROFS|read-only file system)`,
  'im',
);

/** What programs say that found no network. */
const UNREACHABLE: readonly RegExp[] = [
  /Could not resolve (?:host|proxy)|Temporary failure in name resolution|Name or service not known/i,
  /\bEAI_AGAIN\b|getaddrinfo ENOTFOUND|\bENETUNREACH\b|Network is unreachable|No route to host/i,
  /Failed to connect to (?!localhost|127\.|::1|\[::1\])\S+ port \d+/,
  /No matching distribution found|dial tcp\b.*(?:lookup|unreachable)|failed to lookup address information|dns error/i,
];

/** Instead of those for the network, where there is a way out. */
const PROXIED: readonly Rule[] = [
  rule(
    'network',
    [
      'The proxy, which is the only way out of the sandbox, did not let it through to that host.',
      'Ask for the host: what the proxy answered says which rule is missing.',
    ],
    /(?:proxy|tunnel|CONNECT)[^\n]{0,80}\b403\b|\b403\b[^\n]{0,80}(?:proxy|tunnel|CONNECT)/i,
  ),
  rule(
    'network',
    ['The proxy, which is the only way out of the sandbox, is not there any more.', 'Run it again.'],
    new RegExp(
      `127\\.0\\.0\\.1(?::| port )${PROXY_PORT}\\b[^\\n]*(?:refused|connect to server)|ECONNREFUSED 127\\.0\\.0\\.1:${PROXY_PORT}\\b`,
      'i',
    ),
  ),
  rule(
    'network',
    [
      'It looked for the network itself. The only way out of the sandbox is its proxy, which also resolves names.',
      `Give it the proxy http://127.0.0.1:${PROXY_PORT}, as HTTP_PROXY and HTTPS_PROXY have it, or socks5h://127.0.0.1:${PROXY_PORT}.`,
    ],
    ...UNREACHABLE,
  ),
];

/** The narrower before the wider. Texts are those of the C library, Node, Python and the tools themselves. */
const RULES: readonly Rule[] = [
  rule(
    'git_identity',
    [
      'The home in the sandbox is new, so git does not know who commits.',
      'Set it in the same command: git -c user.name=… -c user.email=… commit.',
    ],
    /Please tell me who you are|unable to auto-detect email address|empty ident name/,
  ),
  rule(
    'system_packages',
    [
      'The system’s packages cannot be changed from inside the sandbox.',
      'Have it installed on the host, or install it into the project.',
    ],
    /\/var\/lib\/(?:dpkg|apt|rpm|pacman)\b|\bdpkg frontend lock\b|externally-managed-environment/,
  ),
  rule(
    'containers',
    [
      'There is no container engine in the sandbox: whoever may talk to one is as good as root outside.',
      'Run that command yourself, outside the sandbox.',
    ],
    /Cannot connect to the Docker daemon|docker\.sock|\b(?:docker|podman): (?:command )?not found/,
  ),
  rule(
    'system_services',
    ['The host’s services are not in the sandbox.', 'Start what is needed in the same command, on a loopback port.'],
    /System has not been booted with systemd|Failed to connect to (?:system |session )?bus\b/,
  ),
  rule(
    'network',
    ['There is no network in the sandbox but its own loopback.', 'Fetch it outside and put it into the workspace.'],
    ...UNREACHABLE,
  ),
  rule(
    'privileges',
    ['Nobody becomes root in the sandbox.', 'Do without, or run that part yourself, outside the sandbox.'],
    /\b(?:sudo|doas): (?:command )?not found|no new privileges|effective uid is not 0|are you root\?/i,
    /must be (?:super-?user|root)|^su: /im,
  ),
  rule(
    'sanitizer',
    [
      'LeakSanitizer stops the program to look into it, which no process of the sandbox can do to another.',
      'Set ASAN_OPTIONS=detect_leaks=0 (or LSAN_OPTIONS, without AddressSanitizer); all other checks work.',
    ],
    /LeakSanitizer has encountered a fatal error|LeakSanitizer does not work under ptrace/,
  ),
  rule(
    'sanitizer',
    [
      'Without a cgroup the memory of a tool is limited as address space, of which a sanitizer reserves terabytes.',
      'Run palyrad where it has a cgroup of its own (systemd: Delegate=yes), or build without the sanitizer.',
    ],
    /Sanitizer failed to allocate|ReserveShadowMemoryRange failed|using ulimit -v/,
  ),
  rule(
    'tracing',
    [
      'One process of the sandbox cannot look into another.',
      'Run debuggers and tracers outside; for a look from within, use the program’s own (node --inspect, python -m pdb).',
    ],
    /ptrace.*Operation not permitted|Could not trace the inferior|\b(?:strace|gdb|ltrace): (?:command )?not found/i,
  ),
  rule(
    'nested_sandbox',
    [
      'There are no namespaces of its own for a tool that is in a sandbox already.',
      'Switch the tool’s own sandbox off (browsers: --no-sandbox).',
    ],
    /unshare failed|create (?:a )?new namespace|No usable sandbox|clone.*CLONE_NEW|namespace.*Operation not permitted/i,
  ),
  rule(
    'set_id',
    ['No file gets a setuid or setgid bit in the sandbox.', 'Leave the bit away: 0755 instead of 4755.'],
    /changing permissions of .*Operation not permitted|EPERM: operation not permitted, f?chmod/,
  ),
  rule(
    'ownership',
    ['There is one user in the sandbox, and files stay that user’s.', 'Leave chown away (tar: --no-same-owner).'],
    /changing ownership of|Cannot change ownership|operation not permitted, [fl]?chown/i,
  ),
  rule(
    'unix_sockets',
    [
      'The profile refuses Unix sockets, which tsx, multiprocessing.Manager and others talk to themselves over.',
      'Say unixSockets = "allowed" in the profile; TypeScript also runs as: node file.ts.',
    ],
    /\bEAFNOSUPPORT\b|Address family not supported by protocol/i,
  ),
  rule(
    'low_port',
    ['Ports below 1024 belong to root.', 'Listen on a port from 1024 on.'],
    /listen EACCES|bind.*Permission denied|Permission denied.*bind/i,
  ),
  rule(
    'protected_path',
    [
      'Hooks, agents’ and editors’ settings, instructions and pipelines are protected: such a path, or a directory above one, is held by a mount.',
      'Leave it as it is and say what it should become, or have the operator lift the protection of that path (protection.lifted); cp and rm instead of mv work across.',
    ],
    /\bEBUSY\b|Device or resource busy|\bEXDEV\b|Invalid cross-device link/i,
    PROTECTED_AND_READ_ONLY,
  ),
  rule(
    'read_only',
    [
      'Outside the workspace only /tmp and the home are writable in the sandbox, and both are gone afterwards.',
      'Write into the workspace, or name the place in the profile’s writablePaths; install programs into the project.',
    ],
    /\bEROFS\b|Read-only file system/i,
  ),
  rule(
    'hidden_home',
    [
      'The home in the sandbox is new and empty: settings and credentials of the real one stay outside.',
      'Put into the workspace what may be seen, or name it in the profile’s readOnlyPaths.',
    ],
    new RegExp(`${BOX_USER.home}/\\S*: No such file|ENOENT.*${BOX_USER.home}/`),
  ),
  {
    hint: limit('The disk space of the sandbox’s /tmp, /dev/shm or home is used up.', 'tmpfsBytes'),
    patterns: [/No space left on device|\bENOSPC\b/i],
  },
  {
    hint: limit('There are more open files than the profile allows.', 'openFiles'),
    patterns: [/Too many open files|\bEMFILE\b/i],
  },
  {
    hint: limit('There are more processes than the profile allows.', 'processes'),
    patterns: [/fork.*Resource temporarily unavailable|(?:spawn|fork).*EAGAIN|can't start new thread/i],
  },
  {
    hint: limit('There is more memory used than the profile allows.', 'memoryBytes'),
    patterns: [/Cannot allocate memory|\bENOMEM\b|JavaScript heap out of memory|^MemoryError/im],
  },
  rule(
    'program_missing',
    [
      'There is no such program in the sandbox: it shows the system’s, and those on the operator’s PATH.',
      'Install it where the operator finds it too, then start palyrad anew, or call it by a path in the workspace.',
    ],
    /(?<!\b(?:sudo|doas|docker|podman|strace|ltrace|gdb)): (?:command )?not found$|spawn \S+ ENOENT/m,
  ),
];

function limit(what: string, name: keyof Limits): Hint {
  return { kind: 'limit', what, fix: `Use less, or raise limits.${name} in the profile.`, limit: name };
}

const TOO_LONG = limit('It ran for longer than the profile allows.', 'wallMs');
const TOO_SILENT = limit('It printed nothing for longer than the profile allows.', 'idleMs');

const QUOTAS: Readonly<Record<Quota, Hint>> = {
  cpu: limit('It used more CPU time than the profile allows.', 'cpuMs'),
  memory: limit('It used more memory than the profile allows.', 'memoryBytes'),
  processes: limit('It started more processes than the profile allows.', 'processes'),
  output: limit('It printed more than the profile allows.', 'outputBytes'),
  file_size: limit('It wrote a larger file than the profile allows.', 'fileBytes'),
  disk: limit('It wrote more into /tmp, /dev/shm or the home than the profile allows.', 'tmpfsBytes'),
};
