import type { Hold } from './protected-names.ts';

/** One mount over a protected path, or over a directory above one. */
export interface ProtectionMount {
  readonly path: string;
  /** A directory that is mounted on itself, so that it keeps its name. */
  readonly writable: boolean;
  /** Which of the writable places of the plan it lies in. */
  readonly root: string;
}

export interface MountCandidate {
  readonly path: string;
  readonly root: string;
  readonly hold: Hold;
}

/** Each costs bubblewrap some 0.4 ms. What is left out is checked afterwards like everything else. */
const MOST_MOUNTS = 24;

/**
 * Which protected paths are mounted read-only, in the order of mounting: pure.
 *
 * SECURITY: T-44 — a directory above could be renamed and another put in its place; a mount point cannot be. So each
 * directory between the writable root and the path is a mount of itself.
 */
export function planProtection(candidates: readonly MountCandidate[]): readonly ProtectionMount[] {
  const mounts = new Map<string, ProtectionMount>();
  for (const { path, root, hold } of candidates.toSorted(byUrgency)) {
    if (hold === 'never' || isWithinReadOnly(path, mounts)) continue;
    const pins = directoriesDownTo(path, root).filter((each) => !mounts.has(each));
    if (hold === 'where_free' && !pins.every(isSetApart)) continue;
    if (mounts.size + pins.length + 1 > MOST_MOUNTS) continue;
    for (const pin of pins) mounts.set(pin, { path: pin, writable: true, root });
    // What lies in it is held with it.
    for (const below of mounts.keys()) if (below.startsWith(`${path}/`)) mounts.delete(below);
    mounts.set(path, { path, writable: false, root });
  }
  return [...mounts.values()].toSorted((a, b) => compareText(`${a.path}/`, `${b.path}/`));
}

function byUrgency(a: MountCandidate, b: MountCandidate): number {
  const weight = ({ hold, path }: MountCandidate) => (hold === 'always' ? 0 : 1000) + path.split('/').length;
  return weight(a) - weight(b) || compareText(a.path, b.path);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Like .git and .github: nobody moves what is in it to somewhere else. */
function isSetApart(directory: string): boolean {
  return directory.slice(directory.lastIndexOf('/') + 1).startsWith('.');
}

function isWithinReadOnly(path: string, mounts: ReadonlyMap<string, ProtectionMount>): boolean {
  return [...mounts.values()].some((mount) => !mount.writable && `${path}/`.startsWith(`${mount.path}/`));
}

/** Between the two, neither of them included. */
function directoriesDownTo(path: string, root: string): readonly string[] {
  const names = path
    .slice(root.length + 1)
    .split('/')
    .slice(0, -1);
  return names.map((_, at) => [root, ...names.slice(0, at + 1)].join('/'));
}
