import type { HostSurvey } from '../survey/host-survey.ts';
import type { SurveyFiles } from '../survey/survey-files.ts';
import { bytesOf, type LinkRoom, mirrorNeighbours, type PlacedLink } from './mirror-neighbours.ts';
import type { BoundFileReader } from './open-bound-file.ts';
import { COPIES, type TakenFile } from './take-file.ts';
import { mayUse, type ToolRights } from './tool-rights.ts';

/** What a plan puts into the box for bound files. */
export interface PlacedFiles {
  readonly files: readonly { readonly at: string; readonly bytes: Uint8Array }[];
  readonly links: readonly PlacedLink[];
  /** Files that run where they are: what must be found there, by device and inode. */
  readonly inPlace: HostSurvey['bound'];
}

/** Well within what Linux passes to a program, beside all the other arguments. */
const ROOM = { links: 600, bytes: 256 * 1024 };

export interface PlacingContext {
  readonly rights: ToolRights;
  readonly files: SurveyFiles;
  readonly reader: BoundFileReader;
}

export function placeFiles(taken: readonly TakenFile[], { rights, files, reader }: PlacingContext): PlacedFiles {
  const copies = taken.filter(({ how }) => how === 'copied');
  const links: PlacedLink[] = [];
  for (const [index, { path, place }] of copies.entries()) {
    const at = { root: place.root, isMapped: place.isMapped, rights, files };
    // SECURITY: T-19 — names are shown only of directories that the tool could list itself.
    const list = (directory: string) => (mayUse(directory, 'read', at) ? reader.list(directory) : []);
    const copyRoot = `${COPIES}/${index}`;
    links.push(...mirrorNeighbours({ root: place.root, path, copyRoot, most: roomLeft(links), list }));
  }
  return {
    files: copies.map(({ runAt, content = new Uint8Array() }) => ({ at: runAt, bytes: content })),
    links,
    inPlace: taken
      .filter(({ how }) => how === 'in_place')
      .map(({ path, stamp }) => ({ path, identity: `${stamp.device} ${stamp.inode}` })),
  };
}

function roomLeft(links: readonly PlacedLink[]): LinkRoom {
  return { links: ROOM.links - links.length, bytes: ROOM.bytes - bytesOf(links) };
}
