import { dirname } from 'node:path';
import { type FileFacts, isAtOrBelow, type SurveyFiles } from '../survey/survey-files.ts';

/** Whose rights a tool has. */
export interface ToolRights {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/**
 * Whether nobody but root can change a file or put another one in its place, by a rename of whatever lies above it. SECURITY:
 * T-04 — also other tools' users: a file of a second workspace's owner is the second tool's to write.
 */
export function standsFast(path: string, files: Pick<SurveyFiles, 'lstat'>): boolean {
  for (let at = path; ; at = dirname(at)) {
    const facts = files.lstat(at);
    if (facts === undefined || facts.uid !== 0) return false;
    // Group bits are also the mask of an access list, which may name anybody.
    const isOpen = facts.kind !== 'link' && (facts.mode & 0o022) !== 0;
    // In a sticky directory others add names, but do not replace those of root.
    if (isOpen && (at === path || (facts.mode & 0o1000) === 0)) return false;
    if (at === '/') return true;
  }
}

const BITS = { read: 4, execute: 1 } as const;

/**
 * SECURITY: T-19, T-14 — we may be root, and read a file to copy it: only what the tool could have read itself. `root`: where
 * its mount begins; what lies above was handed over.
 */
export function mayUse(path: string, need: keyof typeof BITS, place: RightsAt): boolean {
  const facts = place.files.lstat(path);
  if (facts === undefined || !permits(facts, BITS[need], place)) return false;
  for (let at = dirname(path); path !== place.root && isAtOrBelow(at, place.root); at = dirname(at)) {
    const above = place.files.lstat(at);
    if (above?.kind !== 'directory' || !permits(above, BITS.execute, place)) return false;
    if (at === '/') break;
  }
  return true;
}

export interface RightsAt {
  readonly root: string;
  /** Root's files look like the tool's there. */
  readonly isMapped: boolean;
  readonly rights: ToolRights;
  readonly files: Pick<SurveyFiles, 'lstat'>;
}

function permits({ uid, gid, mode }: FileFacts, bit: number, { rights, isMapped }: RightsAt): boolean {
  if (uid === rights.uid || (isMapped && uid === 0)) return ((mode >> 6) & bit) !== 0;
  if (gid === rights.gid || rights.groups.includes(gid)) return ((mode >> 3) & bit) !== 0;
  return (mode & bit) !== 0;
}
