import { lstatSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface ChangedFiles {
  readonly count: number;
  /** Relative to the workspace, the first of them. */
  readonly paths: readonly string[];
  /** False: the workspace is too large to be looked at to its end. */
  readonly isWhole: boolean;
}

const MOST_LOOKED_AT = 100_000;
const MOST_NAMED = 100;
/** Thousands of files that nobody reads one by one. */
const LEFT_OUT = new Set(['node_modules', '.git', 'target', '.venv']);

/** Files of a workspace that were written or made since; by the kernel's own clock of changes, which no program sets. */
export function changedFiles(root: string, since: number): ChangedFiles {
  const paths: string[] = [];
  let [count, looked] = [0, 0];
  const waiting = [root];
  for (let directory = waiting.pop(); directory !== undefined; directory = waiting.pop()) {
    for (const entry of entriesOf(directory)) {
      looked += 1;
      if (looked > MOST_LOOKED_AT) return { count, paths: paths.toSorted(), isWhole: false };
      const path = join(directory, entry.name);
      if (entry.isDirectory()) {
        if (!LEFT_OUT.has(entry.name)) waiting.push(path);
      } else if (isChanged(path, since)) {
        count += 1;
        if (paths.length < MOST_NAMED) paths.push(relative(root, path));
      }
    }
  }
  return { count, paths: paths.toSorted(), isWhole: true };
}

function entriesOf(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

function isChanged(path: string, since: number): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.ctimeMs >= since;
}
