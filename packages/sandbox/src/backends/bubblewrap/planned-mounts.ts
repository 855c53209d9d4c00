import type { ExpectedMount } from '../../facts/expected-facts.ts';
import type { StagedMount } from '../../launch-plan.ts';
import type { Limits } from '../../profile.ts';
import type { HostMount } from '../../survey/host-mounts.ts';

/** One mount or file of the box: how bubblewrap is told of it, and what must be found of it then. */
export interface PlannedMount {
  readonly args: readonly string[];
  readonly expected: readonly ExpectedMount[];
}

export interface Access {
  readonly writable: boolean;
  readonly isWorkspace?: true;
}

export interface HandOver {
  (path: string, access: Access): string;
  readonly staged: StagedMount[];
}

export function bind(source: string, at: string, { writable }: { readonly writable: boolean }): PlannedMount {
  return { args: [writable ? '--bind' : '--ro-bind', source, at], expected: [{ at, writable }] };
}

/** A bind brings along what is mounted in its source; what root hands over, and is found elsewhere, comes without. */
export function withMountsInside(mount: PlannedMount, hostMounts: readonly HostMount[]): PlannedMount {
  const [word, source = '', at = ''] = mount.args;
  if (hostMounts.length === 0 || (word !== '--bind' && word !== '--ro-bind')) return mount;
  const inside = hostMounts
    .filter((each) => each.at.startsWith(`${source}/`))
    .map((each) => ({ at: `${at}${each.at.slice(source.length)}`, writable: word === '--bind' && each.writable }));
  return { ...mount, expected: [...mount.expected, ...inside] };
}

export function tmpfs(at: string, mode: string, { tmpfsBytes }: Limits): PlannedMount {
  // SECURITY: T-17 — sized, or a tool fills the machine's memory with files.
  return {
    args: ['--perms', mode, '--size', String(tmpfsBytes), '--tmpfs', at],
    expected: [{ at, writable: true, sizeBytes: tmpfsBytes }],
  };
}

interface DataAt {
  readonly fd: number;
  readonly path: string;
  readonly mode: string;
}

export function file({ fd, path, mode }: DataAt): PlannedMount {
  return { args: ['--perms', mode, '--file', String(fd), path], expected: [] };
}

/** SECURITY: T-24 — over the host's own file in this box's mount table alone; nobody outside sees it, and nothing stays of it. */
export function fileOver({ fd, path, mode }: DataAt): PlannedMount {
  return {
    args: ['--perms', mode, '--ro-bind-data', String(fd), path],
    expected: [{ at: path, writable: false }],
  };
}
