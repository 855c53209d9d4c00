import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  DEFAULT_LIMITS,
  describeSeccomp,
  type Limits,
  PROTECTED_NAMES,
  type ProtectedName,
  SANDBOX_ERRORS,
  type SandboxProfile,
  type SeccompRule,
} from '@palyra/sandbox';

const PAGE = fileURLToPath(new URL('../../docs/reference/sandbox.md', import.meta.url));

/** docs/reference/sandbox.md: written by hand, with tables from the sources between its marks. */
export function renderSandboxReference(): string {
  const tables: Readonly<Record<string, () => string>> = {
    profile,
    protected: protectedNames,
    limits,
    seccomp,
    errors,
  };
  return Object.entries(tables).reduce(
    (page, [name, render]) => replaceBetweenMarks(page, name, render()),
    readFileSync(PAGE, 'utf8'),
  );
}

function replaceBetweenMarks(page: string, name: string, table: string): string {
  const start = `<!-- generated: ${name} -->`;
  const from = page.indexOf(start);
  const until = page.indexOf('<!-- end -->', from);
  if (from === -1 || until === -1) throw new Error(`docs/reference/sandbox.md has no place for ${name}.`);
  return `${page.slice(0, from)}${start}\n${table}\n${page.slice(until)}`;
}

/** Every field, or this does not compile. */
const PROFILE_FIELDS: Readonly<Record<keyof SandboxProfile, string>> = {
  tier: '`B`: limits, not a wall. `C`: a wall',
  workspace: '`root`, one project’s directory, and `access`: `read-write` or `read-only`',
  readOnlyPaths: 'absolute paths outside the workspace that the tool may read',
  writablePaths: 'absolute paths outside the workspace that the tool may write',
  maskedPaths: 'hidden although what they lie in is visible',
  executables: '`any`, or names as found on the tool’s PATH and absolute paths',
  interpreters: '`allowed` or `refused`: programs that run code which the command brings along',
  egress: '`mode` (`none`: no restriction, `preflight`, `strict`) and `hosts`',
  toolchains: '`operator`: what is on the operator’s PATH, read-only, credentials masked. `none`: the system’s only',
  unixSockets: '`allowed` or `refused`: sockets of the family AF_UNIX (`socketpair` always works)',
  limits: 'see below',
  mustHold: '`memory`, `processes`, `cpu`: limits that must hold for all processes together; refused where they cannot',
  environment: 'names of variables that are taken over from the caller; all others are ours',
  startedFor: '`agent` or `operator`: what needs an honest caller is refused to an agent',
  protection: 'optional; `lifted`: protected paths that the operator allows to be written, with what is below them',
  home: 'optional, Tier C only: what the private home holds. `writable` and `readOnly` of the operator’s home, `copied` as it is then, `files` of ours that nobody in it changes, `settings` of ours in /etc',
};

function profile(): string {
  const rows = Object.entries(PROFILE_FIELDS).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`);
  return ['| Field | Meaning |', '|---|---|', ...rows].join('\n');
}

const HOLDS: Readonly<Record<ProtectedName['hold'], string>> = {
  always: 'mounted',
  where_free: 'mounted where that pins no directory of the project',
  never: 'checked',
};

function protectedNames(): string {
  const groups = Map.groupBy(PROTECTED_NAMES, ({ reason, hold }) => `${reason} | ${HOLDS[hold]}`);
  const rows = [...groups].map(([why, names]) => `| ${names.map(({ name }) => `\`${name}\``).join(', ')} | ${why} |`);
  return ['| Name | Why | In Tier C |', '|---|---|---|', ...rows].join('\n');
}

const LIMITS: Readonly<
  Record<keyof Limits, { readonly unit: 'ms' | 'bytes' | 'count' | 'milli'; readonly holds: string }>
> = {
  wallMs: {
    unit: 'ms',
    holds:
      'from the word that lets the command begin to its end, so without the making of its box; by the launcher’s clock',
  },
  idleMs: { unit: 'ms', holds: 'without output; time in which we did not take any does not count' },
  cpuMs: { unit: 'ms', holds: 'of each process (RLIMIT_CPU, whole seconds); of all together where a cgroup counts it' },
  memoryBytes: { unit: 'bytes', holds: 'of all processes together with a cgroup, else of each (RLIMIT_DATA)' },
  processes: {
    unit: 'count',
    holds: 'processes and threads; with a cgroup of this command, else of its user (RLIMIT_NPROC)',
  },
  openFiles: { unit: 'count', holds: 'of each process (RLIMIT_NOFILE)' },
  fileBytes: { unit: 'bytes', holds: 'of each file that is written (RLIMIT_FSIZE)' },
  tmpfsBytes: { unit: 'bytes', holds: 'Tier C: of each of home, /tmp and /dev/shm' },
  outputBytes: { unit: 'bytes', holds: 'of stdout and stderr together' },
  cpuMilli: { unit: 'milli', holds: 'CPUs at once; only with a cgroup' },
};

function limits(): string {
  const rows = (Object.keys(LIMITS) as (keyof Limits)[]).map(
    (name) => `| \`${name}\` | ${amount(DEFAULT_LIMITS[name], LIMITS[name].unit)} | ${LIMITS[name].holds} |`,
  );
  return ['| Limit | Default | Holds for |', '|---|---|---|', ...rows].join('\n');
}

function amount(value: number, unit: 'ms' | 'bytes' | 'count' | 'milli'): string {
  switch (unit) {
    case 'ms':
      return `${value / 60_000} min`;
    case 'bytes':
      return `${value / (1024 * 1024)} MiB`;
    case 'count':
      return String(value);
    case 'milli':
      return `${value / 1000} CPUs`;
  }
}

function seccomp(): string {
  const { rules, highestReviewed } = describeSeccomp({ arch: 'x86_64', unixSockets: 'refused' });
  const rows = rules
    .filter((rule) => !(rule.kind === 'numbers' && rule.last <= highestReviewed))
    .map((rule) => `| ${subject(rule)} | ${answer(rule.action)} | ${rule.why} |`);
  return ['| Call | Answer | Why |', '|---|---|---|', ...rows].join('\n');
}

function subject(rule: SeccompRule): string {
  switch (rule.kind) {
    case 'other_architecture':
      return 'any, on another architecture';
    case 'number_bits':
      return `any with ${hex(rule.mask)} in its number`;
    case 'numbers':
      return `any above number ${rule.first - 1}`;
    case 'calls': {
      const names = rule.calls.map(({ name }) => `\`${name}\``).join(', ');
      return [names, ...rule.when.map(condition)].join('; ');
    }
  }
}

type Condition = Extract<SeccompRule, { kind: 'calls' }>['when'][number];

function condition({ argument, mask, is, values }: Condition): string {
  const masked = mask === 0xffff_ffff ? '' : ` & ${hex(mask)}`;
  return `argument ${argument + 1}${masked} is ${is === 'one_of' ? '' : 'not '}${values.map(hex).join(', ')}`;
}

function hex(value: number): string {
  return value < 10 ? String(value) : `0x${value.toString(16)}`;
}

function answer(action: SeccompRule['action']): string {
  return action === 'kill_process' ? 'the process is killed' : action;
}

function errors(): string {
  const rows = Object.entries(SANDBOX_ERRORS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return ['| Code | Meaning |', '|---|---|', ...rows].join('\n');
}
