import { readlinkSync } from 'node:fs';
import { FileFailure } from './file-failure.ts';
import { createGlobFilter } from './glob-filter.ts';
import { kindOf } from './open-file.ts';
import type { ListedEntry, ListInput, ListOutput } from './tool-shapes.ts';
import { type Visited, visitTree } from './visit-tree.ts';
import { at, closePlace, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

const DEFAULT_ENTRIES = 1000;

/** Names, kinds and sizes; never contents. Throws `FileFailure`. */
export function listDirectory({ root, limits }: Workplace, input: ListInput): ListOutput {
  const limit = Math.min(input.limit ?? DEFAULT_ENTRIES, limits.listEntries);
  const isWanted = createGlobFilter(input.globs);
  const place = walkPath(root, input.path ?? '.', { followLast: true });
  try {
    const { path, entry } = place;
    if (entry === undefined) throw new FileFailure('file.not_found', 'There is nothing at this path.', { path });
    if (!entry.stat.isDirectory()) throw new FileFailure('file.not_directory', 'The path is no directory.', { path });
    const entries: ListedEntry[] = [];
    const budget = { entries: limits.visitedEntries, unreadable: 0 };
    const verdict = visitTree({
      start: { fd: entry.fd, path },
      budget,
      options: {
        depth: Math.min(input.depth ?? 1, limits.depth),
        useIgnoreFiles: input.ignore_files ?? false,
        hidden: input.hidden ?? true,
      },
      see(visited) {
        if (!isWanted(visited.path)) return 'go_on';
        if (entries.length >= limit) return 'stop';
        entries.push(describe(visited));
        return 'go_on';
      },
    });
    return { path, entries, truncated: verdict === 'stop', unreadable: budget.unreadable };
  } finally {
    closePlace(root, place);
  }
}

function describe({ path, directory, name, entry: { stat } }: Visited): ListedEntry {
  const kind = kindOf(stat);
  if (kind === 'file') return { path, kind, size_bytes: stat.size, executable: (stat.mode & 0o111) !== 0 };
  if (kind === 'link') return { path, kind, target: targetOf(directory, name) };
  return { path, kind };
}

/** A link that was replaced meanwhile has none. */
function targetOf(directory: number, name: string): string {
  try {
    return readlinkSync(at(directory, name));
  } catch {
    return '';
  }
}
