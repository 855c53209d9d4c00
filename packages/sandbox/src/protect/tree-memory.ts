import type { DirectoryStamp } from './list-directory.ts';
import type { Look } from './look-into-directory.ts';
import type { Entry } from './read-entries.ts';
import type { Waiting } from './scan-tree.ts';

/** What is known of one workspace from one scan to the next. */
export interface TreeMemory {
  /** By their tops. */
  units: Map<string, Unit>;
  /** Tops of those that the last scan went through directory by directory. */
  walked: ReadonlySet<string>;
  entries: ReadonlyMap<string, Entry>;
}

/** A root without its bulk directories, or one of these: what changes together. */
export interface Unit {
  readonly directories: Map<string, Remembered>;
  /** Directories of which more is to be said than what is in them. */
  readonly marks: readonly Waiting[];
  /** Bulk directories in it. */
  readonly bulk: readonly Waiting[];
  /** All of it was looked at, and nothing left out. */
  readonly isWhole: boolean;
  /** How often in a row it was found as it had been. */
  readonly quietWalks: number;
  /** Told of changes by the kernel. */
  watch: UnitWatch | undefined;
}

/** Handles of its directories, for as long as it is open. */
export interface UnitWatch {
  close(): void;
}

export interface Remembered {
  readonly stamp: DirectoryStamp;
  readonly lookedAtMs: number;
  readonly look: Look;
}

/** Workspaces of which more than their name is known. */
const MOST_REMEMBERED = 16;

function newMemory(): TreeMemory {
  return { units: new Map(), walked: new Set(), entries: new Map() };
}

export function rememberTrees(): (roots: readonly string[]) => TreeMemory {
  const known = new Map<string, TreeMemory>();
  return (roots) => {
    const key = JSON.stringify(roots);
    const memory = known.get(key) ?? newMemory();
    // The last in the map is the last that was used.
    known.delete(key);
    known.set(key, memory);
    for (const [oldest, { units }] of [...known].slice(0, -MOST_REMEMBERED)) {
      for (const { watch } of units.values()) watch?.close();
      known.delete(oldest);
    }
    return memory;
  };
}
