import type { MeasuredFacts, ProcessFacts, Ran } from '@palyra/sandbox';
import type { ExecutionFacts } from '../catalog/tool.ts';

type Fact = ExecutionFacts['sandbox'][string];
type Named = readonly (readonly [name: string, fact: Fact | undefined])[];

/** Where a call ran, as it was measured: `Ran`, or what a file worker knows of its own box. */
export type Measured = Pick<Ran, 'enforcement' | 'facts'> & Partial<Pick<Ran, 'pooled' | 'bound'>>;

/** Flat, as attestations have it. What was not measured is not there. */
export function measuredSandbox({ enforcement, facts, pooled, bound }: Measured): ExecutionFacts['sandbox'] {
  return named([
    ['file_system', enforcement.fileSystem],
    ['network', networkOf({ enforcement, facts })],
    ['measured', facts !== undefined],
    ['pooled', pooled],
    ['bound_sha256', bound?.digest],
    ...(facts === undefined ? [] : fromFacts(facts)),
  ]);
}

/** By what the tool was found to see, not by what was planned for it. */
export function enforcementOf({ enforcement, facts }: Measured): ExecutionFacts['enforcement'] {
  const isStrict = networkOf({ enforcement, facts }) === 'isolated' && enforcement.fileSystem === 'isolated';
  return isStrict ? 'strict' : 'none';
}

// SECURITY: T-20 — an empty network with a way out through which everything may go is no restriction, however it was measured.
function networkOf({ enforcement, facts }: Pick<Measured, 'enforcement' | 'facts'>): Ran['enforcement']['network'] {
  return enforcement.network === 'open' && facts?.network !== 'host' ? 'open' : (facts?.network ?? enforcement.network);
}

function fromFacts({ processes, mountTableSha256, rlimits, cgroup, landlock, listener }: MeasuredFacts): Named {
  return [
    ['mount_table_sha256', mountTableSha256],
    ...processes.flatMap((each, at) => fromProcess(each, roleOf(processes, at))),
    ...Object.entries(rlimits).map(([name, limit]) => [`rlimit_${name}`, limit] as const),
    ['cgroup_driver', cgroup.driver],
    ['cgroup_memory', cgroup.memory],
    ['cgroup_processes', cgroup.processes],
    ['cgroup_cpu', cgroup.cpu],
    ['cgroup_limits', Object.entries(cgroup.limits).map(([file, value]) => `${file}=${value}`)],
    ['landlock_rules', landlock?.rules],
    ['listener', listener],
  ];
}

/** `tool`, `init`, and `tool_2` should there ever be two of them. */
function roleOf(processes: readonly ProcessFacts[], at: number): string {
  const { role = 'tool' } = processes[at] ?? {};
  const before = processes.slice(0, at).filter((each) => each.role === role).length;
  return before === 0 ? role : `${role}_${before + 1}`;
}

function fromProcess(process: ProcessFacts, role: string): Named {
  return [
    [`${role}_uid`, process.uid],
    [`${role}_gid`, process.gid],
    [`${role}_groups`, process.groups.map(String)],
    [`${role}_capabilities`, process.capabilities],
    [`${role}_no_new_privileges`, process.noNewPrivileges],
    [`${role}_seccomp`, process.seccomp],
    [`${role}_namespaces`, process.namespaces],
  ];
}

/** An attestation has no room for what is not there, nor for numbers that programs read differently. */
function named(facts: Named): ExecutionFacts['sandbox'] {
  const kept = facts.filter(
    ([, fact]) => fact !== undefined && fact !== '' && (typeof fact !== 'number' || isSound(fact)),
  );
  return Object.fromEntries(kept) as ExecutionFacts['sandbox'];
}

function isSound(fact: number): boolean {
  return Number.isSafeInteger(fact) && !Object.is(fact, -0);
}
