import type { RawFacts } from '../facts/raw-facts.ts';
import { type LaunchPlan, STAGING } from '../launch-plan.ts';

/** What tells whether the mounts of a sandbox that waits are still those of its plan. */
export interface MountStamp {
  /** Taken before it is started. */
  readonly sources: readonly string[];
  /** Device and inode of what is there, in the same order. */
  readonly identities: readonly string[];
}

export interface StampFiles {
  /** Device and inode of what a path leads to; undefined where there is nothing. */
  identity(path: string): string | undefined;
  /** As the process sees it; undefined when it is gone. */
  mountTable(pid: number): string | undefined;
}

export function stampMounts(plan: LaunchPlan, files: StampFiles): MountStamp {
  const sources = sourcesOf(plan);
  return { sources, identities: sources.map((path) => files.identity(path) ?? GONE) };
}

/**
 * SECURITY: T-44 — a path that leads elsewhere by now (replaced, or mounted over on the host) is not what waits in there: the
 * tool would work on what is no longer the workspace, or see what was hidden since.
 */
export function isStillThere({ sources, identities }: MountStamp, files: StampFiles): boolean {
  return sources.every((path, at) => (files.identity(path) ?? GONE) === identities[at]);
}

/**
 * SECURITY: T-44 — whoever replaces a mount point outside detaches what is mounted on it, in every sandbox: the table as it is
 * now is the one that was compared, or this is not the sandbox that was planned. In Tier B they are the host's own.
 */
export function isAsMeasured({ wrapper }: LaunchPlan, { outside, inside }: RawFacts, files: StampFiles): boolean {
  return wrapper === undefined || files.mountTable(outside[0]?.pid ?? 0) === inside.mountinfo;
}

const GONE = 'gone';
const BINDS: ReadonlySet<string> = new Set(['--bind', '--ro-bind', '--bind-try', '--ro-bind-try', '--dev-bind']);

/** By where they are on the host: what is staged is known to bubblewrap by another name. */
function sourcesOf({ wrapper = [], staged }: LaunchPlan): readonly string[] {
  const bound = wrapper.filter((_, at) => BINDS.has(wrapper[at - 1] ?? ''));
  return [
    ...new Set([...bound.filter((path) => !path.startsWith(`${STAGING}/`)), ...staged.map(({ source }) => source)]),
  ];
}
