import type { ProtectedPlace } from './create-protection.ts';
import type { Entry } from './read-entries.ts';
import type { Scan } from './scan-tree.ts';

/** How things were before a command, and where: enough to put them back later. */
export interface Snapshot {
  readonly place: Pick<ProtectedPlace, 'roots' | 'lifted'>;
  readonly before: Scan;
}

/** The same as long as nothing that would be put back has changed. */
export function fingerprintOf({ place, before }: Snapshot): string {
  const entries = [...before.entries.values()].map(
    ({ path, rule, stamp, mode }) => `${path}\0${rule}\0${stamp}\0${mode}`,
  );
  const ledTo = before.ledTo.map(({ path, rule }) => `${path}\0${rule}`);
  const { gitDirectories, gitTargets, unlooked, bulk } = before;
  const rest = [
    place.roots,
    place.lifted,
    ledTo,
    [...gitDirectories],
    [...gitTargets],
    [...unlooked],
    [...bulk.keys()],
  ];
  return [entries, ...rest].map((each) => each.join('\0\0')).join('\0\0\0');
}

export function writeSnapshot({ place, before }: Snapshot): string {
  const { roots, lifted } = place;
  const { entries, ledTo, gitDirectories, gitTargets, bulk, unlooked } = before;
  const written = [...entries.values()].map((entry) => ({ ...entry, bytes: entry.bytes?.toString('base64') }));
  return JSON.stringify({
    format: FORMAT,
    place: { roots, lifted },
    entries: written,
    ledTo,
    gitDirectories: [...gitDirectories],
    gitTargets: [...gitTargets],
    bulk: [...bulk],
    unlooked: [...unlooked],
  });
}

/** Undefined when it is none, or one of another version. */
export function readSnapshot(text: string): Snapshot | undefined {
  const read = parsed(text);
  if (read?.format !== FORMAT) return undefined;
  const entries = read.entries.map((entry): Entry => {
    const { bytes, target, ...rest } = entry;
    // Whenever it was read: it is not known what happened since.
    const readAtMs = Number.NEGATIVE_INFINITY;
    return { ...rest, readAtMs, target, bytes: bytes === undefined ? undefined : Buffer.from(bytes, 'base64') };
  });
  return {
    place: read.place,
    before: {
      entries: new Map(entries.map((entry) => [entry.path, entry])),
      sightings: [],
      ledTo: read.ledTo,
      gitDirectories: new Set(read.gitDirectories),
      gitTargets: new Set(read.gitTargets),
      bulk: new Map(read.bulk),
      older: new Set(),
      unlooked: new Set(read.unlooked),
      overfull: new Map(),
    },
  };
}

const FORMAT = 'palyra-protected-1';

/** Ours alone wrote it, in a directory that nobody else enters. */
interface Written extends Pick<Snapshot, 'place'>, Pick<Scan, 'ledTo'> {
  readonly format: string;
  readonly entries: readonly (Omit<Entry, 'bytes'> & { readonly bytes: string | undefined })[];
  readonly gitDirectories: readonly string[];
  readonly gitTargets: readonly string[];
  readonly bulk: readonly (readonly [string, string])[];
  readonly unlooked: readonly string[];
}

function parsed(text: string): Written | undefined {
  try {
    return JSON.parse(text) as Written;
  } catch {
    return undefined;
  }
}
