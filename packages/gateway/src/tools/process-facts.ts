import { normalize } from 'node:path';
import { hostsInArguments } from '@palyra/egress';
import type { Planning } from '@palyra/sandbox';
import type { ToolPlan } from '../catalog/tool.ts';
import { hostAndPort } from '../connections/named-network.ts';
import { REACHES_NOTHING } from './built-in-plan.ts';
import type { ProcessCommand } from './process-command.ts';

type Planned = Extract<Planning, { kind: 'planned' }>;

export interface FactsQuestion {
  readonly process: ProcessCommand;
  readonly planned: Planned;
  /** `host:port` of package registries, as the operator knows them. */
  readonly registryHosts: readonly string[];
}

/** What the box will hold, from the profile and from what the sandbox found on the host; nothing from the argv. */
export function enforcedBy({ process, planned, registryHosts }: FactsQuestion): ToolPlan['enforced'] {
  const { profile, network } = process;
  const { hosts, mode, privateHosts } = network;
  const outside = [...profile.readOnlyPaths, ...profile.writablePaths].filter(
    (path) => !isAtOrBelow(path, profile.workspace.root) && process.session?.programs.includes(path) !== true,
  );
  return {
    ...REACHES_NOTHING,
    tier: profile.tier,
    egress: mode,
    ...rootsOf(process, planned),
    hosts,
    registryHosts: hosts.filter((host) => registryHosts.includes(host)),
    clientHosts: hosts.filter((host) => process.session?.clientHosts.includes(host) === true),
    privateHosts,
    outsidePaths: [...new Set(outside.map(withoutSlash))],
    protectedPaths: [...new Set((profile.protection?.lifted ?? []).map(withoutSlash))],
  };
}

/** What the command line says. It explains; the box holds. */
export function declaredBy({ command }: ProcessCommand, { survey }: Planned): ToolPlan['declared'] {
  const [, ...words] = command.argv;
  const values = words.map((word) => word.replace(/^-[^=]*=/, ''));
  return {
    executable: survey.program,
    arguments: words,
    hosts: [...new Set(hostsInArguments(command.argv).map(hostAndPort))],
    paths: [...new Set(values.filter((value) => /^\/[^\0]*$/.test(value)).map((path) => normalize(path)))],
  };
}

function rootsOf(
  { profile }: ProcessCommand,
  { plan, survey }: Planned,
): Pick<ToolPlan['enforced'], 'readRoots' | 'writeRoots'> {
  if (profile.tier === 'B') {
    const rules = plan.landlock?.rules;
    // SECURITY: T-49 — without Landlock a tool of Tier B reaches what its user reaches, whatever the profile says.
    if (rules === undefined) return { readRoots: ['/'], writeRoots: ['/'] };
    return { readRoots: pathsOf(rules), writeRoots: pathsOf(rules.filter(({ access }) => access === 'write')) };
  }
  const { workspace, paths, toolchains, systemRoots } = survey;
  const isWritable = profile.workspace.access === 'read-write';
  const own = [workspace.root, ...workspace.gitDirectories];
  const system = systemRoots.flatMap((root) => (root.kind === 'directory' ? [root.path] : []));
  return {
    readRoots: [...new Set([...own, ...paths.readOnly, ...paths.writable, ...toolchains.readOnly, ...system])],
    writeRoots: [...new Set([...(isWritable ? own : []), ...paths.writable])],
  };
}

function pathsOf(rules: readonly { readonly path: string }[]): readonly string[] {
  return [...new Set(rules.map(({ path }) => path))];
}

function isAtOrBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${withoutSlash(root)}/`);
}

function withoutSlash(path: string): string {
  return path.replace(/(?<=.)\/$/, '');
}
