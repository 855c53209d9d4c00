import { nextTurn } from '../next-turn.ts';
import { cgroupFindings } from './compare-cgroups.ts';
import { listenerFindings } from './compare-listener.ts';
import { mountFindings } from './compare-mounts.ts';
import { kinshipFindings, type Own, processFindings } from './compare-processes.ts';
import type { ExpectedFacts } from './expected-facts.ts';
import type { Finding } from './finding.ts';
import { measureRead } from './measure.ts';
import type { MeasuredFacts } from './measured-facts.ts';
import { CAPABILITY_SETS, type ReadLimit } from './parse-proc.ts';
import type { RawFacts } from './raw-facts.ts';
import { isIsolated, NAMESPACES, type ReadFacts, type ReadProcess, readFacts } from './read-facts.ts';
import { unreadable } from './unreadable.ts';

/** Only `as_planned` lets the tool start. */
export type Comparison =
  | { readonly kind: 'as_planned'; readonly facts: MeasuredFacts }
  | { readonly kind: 'differs'; readonly findings: readonly Finding[] };

/**
 * SECURITY: T-20 — every fact of the plan against what the kernel says, for every process in the sandbox. Throws
 * `sandbox.enforcement_failed` for what cannot be read; to a caller that is the same as `differs`.
 */
export async function compare(raw: RawFacts, expected: ExpectedFacts, own: Own): Promise<Comparison> {
  const parts = comparing(raw, expected, own);
  for (;;) {
    // Each part in a turn of its own: together they would stop everything else for most of a millisecond.
    await nextTurn();
    const part = parts.next();
    if (part.done === true) return part.value;
  }
}

/** As `compare`; what it yields is nothing but an occasion to do something else. */
export function* comparing(raw: RawFacts, expected: ExpectedFacts, own: Own): Generator<undefined, Comparison> {
  const read = readFacts(raw);
  yield;
  const ofProcesses = [
    ...read.processes.flatMap((process) => processFindings(process, { read, expected, own })),
    ...kinshipFindings(read, expected),
    ...insideFindings(read),
    ...rlimitFindings(read, expected),
    ...insideLimitFindings(read),
  ];
  yield;
  const findings = [
    ...ofProcesses,
    ...networkFindings(read, expected),
    ...listenerFindings(raw.listener, { network: read.processes[0].namespaces.net, isExpected: expected.listener }),
    ...mountFindings(read.mounts, expected.mounts),
    ...cgroupFindings(raw.cgroupFiles, read.processes, expected.cgroups),
    ...landlockFindings(raw, expected),
    ...boundFindings(raw, expected),
  ];
  if (findings.length > 0) return { kind: 'differs', findings };
  yield;
  return { kind: 'as_planned', facts: measureRead(raw, read) };
}

/** The tool is read twice, from inside and from the host's /proc; if both do not agree, they are two processes. */
function insideFindings({ inside, processes: [tool] }: ReadFacts): readonly Finding[] {
  const findings: Finding[] = [];
  for (const [name, read] of COMPARABLE) {
    const expected = read(tool);
    const found = read(inside);
    if (expected === found) continue;
    const what = `From inside, the tool's ${name} is not what the host's /proc shows.`;
    findings.push({ what, expected: String(expected), found: String(found) });
  }
  return findings;
}

/** What `===` compares by value. */
type Scalar = string | number | boolean | undefined;

/** User and group ids are left out: inside they are seen through the map of the user namespace. */
const COMPARABLE: readonly (readonly [string, (facts: Pick<ReadProcess, 'status' | 'namespaces'>) => Scalar])[] = [
  ['no_new_privs flag', ({ status }) => status.noNewPrivileges],
  ['seccomp mode', ({ status }) => status.seccomp],
  ['number of seccomp filters', ({ status }) => status.seccompFilters],
  ['number of threads', ({ status }) => status.threads],
  ['innermost process id', ({ status }) => status.pids.at(-1)],
  ...CAPABILITY_SETS.map(
    (set) => [`${set} capability set`, ({ status }: Pick<ReadProcess, 'status'>) => status.capabilities[set]] as const,
  ),
  ...NAMESPACES.map(
    (name) => [`${name} namespace`, ({ namespaces }: Pick<ReadProcess, 'namespaces'>) => namespaces[name]] as const,
  ),
];

// SECURITY: T-43 — also of init, which would otherwise do for the tool what the tool's limits forbid.
function rlimitFindings({ processes }: ReadFacts, { rlimits }: ExpectedFacts): readonly Finding[] {
  return processes.flatMap(({ role, limits }) => rlimits.flatMap((planned) => limitFindings(role, limits, planned)));
}

/** From inside and from outside the same, or they are two processes. */
function insideLimitFindings({ inside, processes: [tool] }: ReadFacts): readonly Finding[] {
  // Equal texts are read once, and this is then the same as what it is compared with.
  if (inside.limits === tool.limits) return [];
  const differs = [...tool.limits].filter(([name, { soft, hard }]) => {
    const found = inside.limits.get(name);
    return found?.soft !== soft || found.hard !== hard;
  });
  return differs.map(([name]) => ({
    what: `From inside, the tool's resource limit "${name}" is not what the host's /proc shows.`,
    expected: limitText(tool.limits.get(name)?.hard ?? 0),
    found: limitText(inside.limits.get(name)?.hard ?? 0),
  }));
}

function limitFindings(
  role: string,
  limits: ReadonlyMap<string, ReadLimit>,
  { name, soft, hard }: ExpectedFacts['rlimits'][number],
): readonly Finding[] {
  const found = limits.get(name);
  if (found === undefined) throw unreadable('limits', `${name} is missing`);
  // Nearly always: no texts and lists for that, of which there would be a hundred for each command.
  if (isSameLimit(soft, found.soft) && isSameLimit(hard, found.hard)) return NO_FINDINGS;
  const pairs = [
    ['soft', soft, found.soft],
    ['hard', hard, found.hard],
  ] as const;
  return pairs
    .filter(([, planned, actual]) => !isSameLimit(planned, actual))
    .map(([kind, planned, actual]) => ({
      what: `The ${kind} resource limit "${name}" of the ${role} is not the planned one.`,
      expected: limitText(planned),
      found: limitText(actual),
    }));
}

const NO_FINDINGS: readonly Finding[] = [];

/** RLIM_INFINITY is 2^64 - 1, which a double holds only as 2^64. */
const UNLIMITED = 2 ** 64;

function isSameLimit(planned: number, actual: number): boolean {
  return planned === actual || (planned >= UNLIMITED && actual >= UNLIMITED);
}

function limitText(value: number): string {
  return value >= UNLIMITED ? 'unlimited' : String(value);
}

function networkFindings({ network }: ReadFacts, { isolatedNetwork }: ExpectedFacts): readonly Finding[] {
  if (!isolatedNetwork || isIsolated(network)) return [];
  const expected = 'only lo, and no route but through lo';
  if (network === undefined)
    return [{ what: "The tool sees the host's network.", expected, found: "the host's network" }];
  const list = (names: readonly string[]) => (names.length === 0 ? 'none' : [...new Set(names)].join(', '));
  const found = `interfaces: ${list(network.interfaces)}; routes through: ${list(network.routes)}`;
  return [{ what: "The tool's network is not isolated.", expected, found }];
}

// SECURITY: T-14, T-20 — a directory that was swapped for a link between planning and mounting is another one.
function boundFindings({ inside }: RawFacts, { bound }: ExpectedFacts): readonly Finding[] {
  return bound
    .filter(({ path, identity }) => inside.bound[path] !== identity)
    .map(({ path }) => ({
      what: `At ${path} is not what was there when the command was planned.`,
      expected: 'the same file or directory',
      found: inside.bound[path] === undefined ? 'nothing was measured' : 'another one',
    }));
}

function landlockFindings({ landlockRules }: RawFacts, { landlock }: ExpectedFacts): readonly Finding[] {
  if (!landlock || (Number.isSafeInteger(landlockRules) && landlockRules > 0)) return [];
  return [
    {
      what: 'The tool is not under the planned Landlock rules.',
      expected: 'at least one rule',
      found: `${landlockRules} rules`,
    },
  ];
}
