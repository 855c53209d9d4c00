import type { LandlockPlan } from '../launch-plan.ts';

/** The few questions about directories that are asked here. */
export interface DirectoryFiles {
  /** Undefined when it cannot be listed. */
  list(directory: string): readonly DirectoryEntry[] | undefined;
  /** Of the directory itself, links not followed; undefined for anything else. */
  identity(directory: string): string | undefined;
  /** Device and inode, links not followed. */
  fileId(path: string): string | undefined;
  /** Changes whenever an entry is added, removed or replaced; undefined when there is no such directory. */
  stamp(directory: string): string | undefined;
}

export interface DirectoryEntry {
  readonly name: string;
  readonly isLink: boolean;
}

export interface CarvedOut {
  /** Resolved, absolute. */
  readonly hidden: readonly string[];
  readonly readOnly: readonly string[];
  /** Stay within reach, also in a directory that can be entered and not listed. */
  readonly needed?: readonly string[];
}

/**
 * Landlock only knows what is allowed, for a directory with everything below it. To take a place out, the directories
 * above it are gone through and everything else in them is allowed; they themselves cannot be listed then.
 */
export function landlockRules({ hidden, readOnly, needed = [] }: CarvedOut, files: DirectoryFiles): LandlockPlan {
  const special = [...hidden, ...readOnly];
  const rules: { path: string; access: Access }[] = [];
  const stamps: string[] = [];

  /** Of a directory that cannot be listed, what is known to be in it; nothing else can be allowed. */
  const known = (directory: string): readonly DirectoryEntry[] =>
    [...new Set([...special, ...needed].flatMap((place) => nameToward(directory, place)))].map((name) => ({
      name,
      isLink: false,
    }));

  const visit = (directory: string, access: Access) => {
    stamps.push(`${directory} ${files.stamp(directory) ?? 'gone'}`);
    for (const { name, isLink } of files.list(directory) ?? known(directory)) {
      // SECURITY: T-40 — a link is only another name; a rule for it would be one for what it points to, hidden or not.
      if (isLink) continue;
      const path = directory === '/' ? `/${name}` : `${directory}/${name}`;
      if (hidden.includes(path)) continue;
      const given = readOnly.includes(path) ? 'read' : access;
      // SECURITY: T-40 — also in what may only be read: a rule for it as a whole would be one for what is hidden in it.
      if (special.some((place) => place.startsWith(`${path}/`))) visit(path, given);
      else rules.push({ path, access: given });
    }
  };
  visit('/', 'write');
  return { rules, stamp: stamps.join('\n') };
}

type Access = LandlockPlan['rules'][number]['access'];

/** The next segment on the way from a directory to a place below it. */
function nameToward(directory: string, place: string): readonly string[] {
  const start = directory === '/' ? '/' : `${directory}/`;
  return place.startsWith(start) && place !== start ? [place.slice(start.length).split('/', 1).join('')] : [];
}

/** Whether the rules still describe the same files. */
export function isFresh({ stamp }: LandlockPlan, files: DirectoryFiles): boolean {
  return stamp.split('\n').every((line) => {
    const space = line.lastIndexOf(' ');
    return (files.stamp(line.slice(0, space)) ?? 'gone') === line.slice(space + 1);
  });
}
