import type { ExpectedFacts } from './expected-facts.ts';
import type { Finding } from './finding.ts';
import type { Capabilities, CapabilitySet } from './parse-proc.ts';
import { NAMESPACES, type ReadFacts, type ReadProcess } from './read-facts.ts';

/** What the launcher says of itself. */
export interface Own {
  readonly uid: number;
  readonly gid: number;
  /** Filters that it is under itself, in a container for example: every process of the sandbox inherits them. */
  readonly seccompFilters?: number;
}

interface ProcessContext {
  readonly read: ReadFacts;
  readonly expected: ExpectedFacts;
  readonly own: Own;
}

/** SECURITY: T-43 — the same for the tool and for init: the weaker of two neighbours is the way out for both. */
export function processFindings(process: ReadProcess, context: ProcessContext): readonly Finding[] {
  return [
    ...identityFindings(process, context),
    ...groupFindings(process, context),
    ...privilegeFindings(process, context),
    ...seccompFindings(process, context),
    ...namespaceFindings(process, context),
    ...threadFindings(process),
  ];
}

/** Who is whose child, and that nobody else is there. */
export function kinshipFindings({ processes }: ReadFacts, { namespaces }: ExpectedFacts): readonly Finding[] {
  const [tool, init] = processes;
  const planned = namespaces.includes('pid') ? 2 : 1;
  if (processes.length !== planned) {
    const what = 'The sandbox does not hold the planned number of processes.';
    return [{ what, expected: String(planned), found: String(processes.length) }];
  }
  const pids = processes
    .filter(({ pid, status }) => status.pids[0] !== pid || status.pids.length !== planned)
    .map(({ role, pid, status }) => ({
      what: `${NAMES[role]} is not in a process id namespace as planned.`,
      expected: planned === 1 ? `process id ${pid} alone` : `process id ${pid}, and one of its own inside`,
      found: `process ids ${status.pids.join(', ')}`,
    }));
  if (init === undefined) return pids;
  const first = init.status.pids.at(-1);
  const isFirst = first === 1;
  const isChild = tool.status.parentPid === init.pid;
  return [
    ...pids,
    ...(isFirst ? [] : [{ what: `${NAMES.init} is not the first process.`, expected: '1', found: String(first) }]),
    ...(isChild
      ? []
      : [
          {
            what: `${NAMES.tool} is not a child of the sandbox's init.`,
            expected: `parent ${init.pid}`,
            found: `parent ${tool.status.parentPid}`,
          },
        ]),
  ];
}

const NAMES = { tool: 'The tool', init: "The sandbox's init" } as const;

const FOUR_IDS = 'real, effective, saved and file system';

function identityFindings({ role, status }: ReadProcess, { expected, own }: ProcessContext): readonly Finding[] {
  const planned = expected.identity ?? own;
  return (
    [
      ['uid', 'user', planned.uid, status.uids],
      ['gid', 'group', planned.gid, status.gids],
    ] as const
  ).flatMap(([kind, noun, id, ids]) => {
    const found = `${kind}s ${ids.join(', ')}`;
    const findings: Finding[] = [];
    // SECURITY: T-42 — judged by itself, so that no plan and no launcher can ask for root.
    if (ids.includes(0)) {
      const what = `${NAMES[role]} runs with the ${noun} id of the host's root.`;
      findings.push({ what, expected: `no ${kind} 0`, found });
    }
    if (ids.some((other) => other !== id)) {
      const what = `${NAMES[role]} does not run as the planned ${noun}.`;
      findings.push({ what, expected: `${kind} ${id} (${FOUR_IDS})`, found });
    }
    return findings;
  });
}

// SECURITY: T-42 — the groups docker, disk and their like are root by another name.
function groupFindings({ role, status }: ReadProcess, { expected }: ProcessContext): readonly Finding[] {
  if (!expected.noGroups || status.groups.length === 0) return [];
  const what = `${NAMES[role]} has kept supplementary groups.`;
  return [{ what, expected: 'none', found: status.groups.join(', ') }];
}

// SECURITY: T-18 — without this flag a setuid file gives back what was dropped; no plan goes without it.
function privilegeFindings({ role, status }: ReadProcess, { expected }: ProcessContext): readonly Finding[] {
  const flag = status.noNewPrivileges
    ? []
    : [
        {
          what: `${NAMES[role]} can gain privileges by starting a program.`,
          expected: 'NoNewPrivs 1',
          found: 'NoNewPrivs 0',
        },
      ];
  const held = mustBeEmpty(expected)
    .filter((set) => status.capabilities[set] !== NONE)
    .map((set) => ({
      what: `${NAMES[role]} has capabilities in its ${set} set.`,
      expected: NONE,
      found: status.capabilities[set],
    }));
  return [...flag, ...held];
}

const NONE: Capabilities[CapabilitySet] = '0'.repeat(16);

/**
 * Only who owns a user namespace can empty the bounding set. Without one an ordinary uid keeps it, and it gives
 * nothing: NoNewPrivs is demanded too.
 */
function mustBeEmpty({ noCapabilities, namespaces }: ExpectedFacts): readonly CapabilitySet[] {
  if (!noCapabilities) return [];
  const sets = ['inheritable', 'permitted', 'effective', 'ambient'] as const;
  return namespaces.includes('user') ? [...sets, 'bounding'] : sets;
}

function seccompFindings({ role, status }: ReadProcess, { expected, own }: ProcessContext): readonly Finding[] {
  if (!expected.seccomp) return [];
  // SECURITY: T-20 — a filter that the launcher's container brought along is not ours.
  const inherited = own.seccompFilters ?? 0;
  if (status.seccomp === 2 && status.seccompFilters > inherited) return [];
  return [
    {
      what: `${NAMES[role]} is not under our seccomp filter.`,
      expected: `mode 2 with at least ${inherited + 1} filters`,
      found: `mode ${status.seccomp} with ${status.seccompFilters} filters`,
    },
  ];
}

function namespaceFindings({ role, namespaces }: ReadProcess, { read, expected }: ProcessContext): readonly Finding[] {
  const [tool] = read.processes;
  const shared = expected.namespaces
    .filter((name) => namespaces[name] === read.hostNamespaces[name])
    .map((name) => ({
      what: `${NAMES[role]} is in the host's ${name} namespace.`,
      expected: 'one of its own',
      found: namespaces[name],
    }));
  // SECURITY: T-43 — a neighbour in an outer user namespace has power over the inner ones.
  const apart = NAMESPACES.filter((name) => namespaces[name] !== tool.namespaces[name]).map((name) => ({
    what: `${NAMES[role]} is in another ${name} namespace than the tool.`,
    expected: tool.namespaces[name],
    found: namespaces[name],
  }));
  return [...shared, ...apart];
}

// SECURITY: T-43 — ids, capabilities and filters belong to threads; status speaks only of the first.
function threadFindings({ role, status }: ReadProcess): readonly Finding[] {
  if (status.threads === 1) return [];
  const what = `${NAMES[role]} has threads that were not measured.`;
  return [{ what, expected: '1 thread', found: `${status.threads} threads` }];
}
