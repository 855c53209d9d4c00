import { dirname, join } from 'node:path';
import { isAtOrBelow } from '../survey/survey-files.ts';
import { stateOf } from './anchored-files.ts';
import type { ProtectedPlace } from './create-protection.ts';
import type { Sighting } from './look-into-directory.ts';
import type { MountCandidate } from './plan-protection.ts';
import type { Hold } from './protected-names.ts';
import type { Scan } from './scan-tree.ts';

/** What could be mounted: files and directories that are there. A mount on a link would be one on what it leads to. */
export function mountCandidates(scan: Scan, place: ProtectedPlace): readonly MountCandidate[] {
  const sightings = [...scan.sightings, ...scan.ledTo];
  const filled = new Set([...scan.entries.keys()].map((path) => dirname(path)));
  return sightings.flatMap((sighting): readonly MountCandidate[] => {
    const { path } = sighting;
    const root = place.roots.find((each) => isAtOrBelow(path, each));
    const kind = scan.entries.get(path)?.kind;
    // The name is an argument, which is text.
    if (root === undefined || !path.isWellFormed() || (kind !== 'file' && kind !== 'directory')) return [];
    return [{ path, root, hold: holdOf(sighting, filled, place) }];
  });
}

/**
 * A pinned repository can be neither removed nor renamed, and clones come and go. So hooks are held in the workspace's
 * own repository with its submodules, and wherever there is one to lose; in others they are checked.
 */
function holdOf({ path, rule, hold }: Sighting, filled: ReadonlySet<string>, { gitDirectories }: ProtectedPlace): Hold {
  if (rule !== 'hooks' || hold !== 'never') return hold;
  const isOwn = gitDirectories.some((each) => isAtOrBelow(path, each));
  return isOwn || filled.has(path) ? 'always' : 'never';
}

/**
 * The only path that is made in order to be mounted on: an empty `hooks` is what git itself makes, and nobody sees it. An
 * empty CLAUDE.md or .envrc in every workspace would be seen, by editors and by git.
 */
export function absentHooks(
  { roots, gitDirectories, lifted }: ProtectedPlace,
  isMade: (path: string) => boolean,
): readonly Omit<MountCandidate, 'hold'>[] {
  const isAbsent = (path: string) => stateOf(path) === undefined || isMade(path);
  return gitDirectories
    .filter((each) => stateOf(each)?.kind === 'directory')
    .map((each) => join(each, 'hooks'))
    .filter((path) => isAbsent(path) && !lifted.some((each) => isAtOrBelow(path, each)))
    .flatMap((path) => {
      const root = roots.find((each) => each === dirname(path) || isAtOrBelow(path, each));
      return root === undefined ? [] : [{ path, root }];
    });
}
