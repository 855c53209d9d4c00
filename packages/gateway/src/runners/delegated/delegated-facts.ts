import { sha256OfJson } from '@palyra/primitives';
import type { CallPlace, Capability, ToolPlan } from '../../catalog/tool.ts';
import { nameNetwork } from '../../connections/named-network.ts';
import { REACHES_NOTHING } from '../../tools/built-in-plan.ts';

import type { DelegatedInput } from './delegated-input.ts';
import type { LocatedPath, LocatePath } from './locate-path.ts';

/** What kind of thing an agent's own tool does; each is a tool of the catalogue, so that policies can name it. */
export const DELEGATED_ACTS = ['read', 'write', 'fetch', 'shell', 'upstream', 'unknown'] as const;
export type DelegatedAct = (typeof DELEGATED_ACTS)[number];

export const CAPABILITIES: Readonly<Record<DelegatedAct, readonly Capability[]>> = {
  read: [],
  write: ['filesystem_write'],
  fetch: ['network'],
  shell: ['process_exec'],
  upstream: [],
  // It may be anything, so it is taken for the worst.
  unknown: ['process_exec'],
};

type Enforced = ToolPlan['enforced'];

/** Undefined: the input says what no such tool could do. */
export async function enforcedBy(
  act: DelegatedAct,
  input: DelegatedInput,
  { place, locate }: { readonly place: CallPlace; readonly locate: LocatePath },
): Promise<Enforced | undefined> {
  const access = act === 'read' ? 'read' : 'write';
  const { workspace, coverage } = place;
  const located = await Promise.all(input.paths.map((path) => locate({ path, access, workspace })));
  // SECURITY: T-49 — only around a wrapped agent is there a box; a hook that is asked holds nobody to what it was told.
  const isBoxed = coverage === 'wrapped';
  const reached = ofPaths(located, { access, workspace });
  // Of what lies outside the workspace a box shows its own, or nothing: there is no leaving it by a path.
  const base: Enforced = { ...REACHES_NOTHING, ...reached, ...(isBoxed ? { outsidePaths: [] } : {}) };
  switch (act) {
    case 'read':
    case 'write':
      return { ...base, tier: isBoxed ? 'C' : 'client' };
    case 'shell':
    case 'unknown':
      return { ...base, tier: isBoxed ? 'C' : 'none' };
    case 'fetch': {
      const hosts = hostsOf(input.url);
      if (hosts === undefined) return undefined;
      // Where a redirect leads is not ours to see; in a box the proxy asks for each connection.
      return isBoxed ? { ...base, tier: 'C' } : { ...base, tier: 'client', egress: 'preflight', ...hosts };
    }
    case 'upstream': {
      const { client, server = '', tool } = input;
      // What the agent was told of the tool is not in its message, so a change of that is not seen here (T-38).
      const upstream = { server: `${client}/${server}`, definitionSha256: sha256OfJson({ client, server, tool }) };
      return { ...base, tier: isBoxed ? 'C' : 'client', upstream };
    }
  }
}

function ofPaths(
  located: readonly LocatedPath[],
  { access, workspace }: { readonly access: 'read' | 'write'; readonly workspace: string },
): Pick<Enforced, 'readRoots' | 'writeRoots' | 'outsidePaths' | 'protectedPaths' | 'secretFiles' | 'neverPaths'> {
  const among = (kind: LocatedPath['kind']) => [
    ...new Set(located.flatMap((each) => (each.kind === kind ? [each.path] : []))),
  ];
  const [secretFiles, outsidePaths] = [among('secret'), among('outside')];
  // By name besides: a grant to read one is none to write it.
  const roots = [workspace, ...secretFiles, ...outsidePaths];
  return {
    readRoots: access === 'read' ? roots : [workspace],
    writeRoots: access === 'write' ? roots : [],
    outsidePaths,
    protectedPaths: among('protected'),
    secretFiles,
    neverPaths: among('never'),
  };
}

const ONE_HOST = /^https?:\/\/[^/?#\\@\s]+(?:[/?#]|$)/i;

function hostsOf(url = ''): Pick<Enforced, 'hosts' | 'privateHosts'> | undefined {
  const parsed = URL.parse(url);
  // SECURITY: T-57 — what all programs read alike: with a `@`, or a backslash, they look for the host in different places.
  if (!ONE_HOST.test(url)) return undefined;
  if (parsed === null || !['http:', 'https:'].includes(parsed.protocol)) return undefined;
  const port = parsed.port === '' ? (parsed.protocol === 'https:' ? '443' : '80') : parsed.port;
  // What the operator opened of private networks is opened for boxes, not for an agent outside of one.
  const named = nameNetwork([`${parsed.hostname}:${port}`], []);
  return named.kind === 'named' ? { hosts: named.hosts, privateHosts: named.privateHosts } : undefined;
}
