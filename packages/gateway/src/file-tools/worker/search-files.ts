import { FileFailure } from './file-failure.ts';
import { createGlobFilter } from './glob-filter.ts';
import { compileLinePattern, type LinePattern } from './line-pattern.ts';
import { looksBinary, readWhole } from './open-file.ts';
import { matchesIn } from './search-text.ts';
import type { Match, SearchInput, SearchOutput } from './tool-shapes.ts';
import { visitTree } from './visit-tree.ts';
import { closePlace, type Entry, walkPath } from './walk-path.ts';
import type { Workplace } from './workplace.ts';

const DEFAULT_MATCHES = 200;

interface Search {
  readonly workplace: Workplace;
  readonly pattern: LinePattern;
  readonly contextLines: number;
  readonly limit: number;
  readonly deadline: number;
  readonly matches: Match[];
  readonly skipped: { binary: number; too_large: number; unreadable: number; protected: number };
  filesSearched: number;
  bytesLeft: number;
  /** Of the answer: long lines and much context must not make it larger than an answer may be. */
  charactersLeft: number;
  stoppedBy: SearchOutput['stopped_by'];
}

/** Lines that hold the pattern, file by file in order. Throws `FileFailure`. */
export function searchFiles(workplace: Workplace, input: SearchInput): SearchOutput {
  const { root, limits } = workplace;
  const isWanted = createGlobFilter(input.globs);
  const search = begin(workplace, input);
  const place = walkPath(root, input.path ?? '.', { followLast: true });
  try {
    const { path, entry } = place;
    if (entry === undefined) throw new FileFailure('file.not_found', 'There is nothing at this path.', { path });
    if (!entry.stat.isDirectory()) {
      searchFile(search, entry, path);
      return report(search);
    }
    const budget = { entries: limits.visitedEntries, unreadable: 0 };
    visitTree({
      start: { fd: entry.fd, path },
      budget,
      options: { depth: limits.depth, useIgnoreFiles: input.ignore_files ?? true, hidden: input.hidden ?? false },
      see(visited) {
        if (!visited.entry.stat.isFile() || !isWanted(visited.path)) return 'go_on';
        searchFile(search, visited.entry, visited.path);
        return search.stoppedBy === 'nothing' ? 'go_on' : 'stop';
      },
    });
    search.skipped.unreadable += budget.unreadable;
    if (budget.entries <= 0 && search.stoppedBy === 'nothing') search.stoppedBy = 'entries';
    return report(search);
  } finally {
    closePlace(root, place);
  }
}

function begin(workplace: Workplace, input: SearchInput): Search {
  const { limits } = workplace;
  return {
    workplace,
    pattern: compileLinePattern(input),
    contextLines: input.context_lines ?? 0,
    limit: Math.min(input.limit ?? DEFAULT_MATCHES, limits.matches),
    deadline: performance.now() + limits.searchMs,
    matches: [],
    skipped: { binary: 0, too_large: 0, unreadable: 0, protected: 0 },
    filesSearched: 0,
    bytesLeft: limits.searchBytes,
    // A character is at most six bytes in JSON.
    charactersLeft: Math.floor(limits.answerBytes / 8),
    stoppedBy: 'nothing',
  };
}

function searchFile(search: Search, entry: Entry, path: string): void {
  const { workplace, skipped } = search;
  const { limits, guard } = workplace;
  // SECURITY: T-15 — a search must not show what a read would have asked for.
  if (!isApproved(guard, path)) {
    skipped.protected += 1;
    return;
  }
  if (entry.stat.size > limits.searchFileBytes) {
    skipped.too_large += 1;
    return;
  }
  const bytes = tryRead(entry, path, limits.searchFileBytes);
  if (bytes === undefined) {
    skipped.unreadable += 1;
    return;
  }
  search.bytesLeft -= bytes.length;
  if (looksBinary(bytes)) skipped.binary += 1;
  else addMatches(search, path, bytes.toString('utf8'));
  if (search.stoppedBy !== 'nothing') return;
  if (search.bytesLeft <= 0) search.stoppedBy = 'bytes';
  else if (performance.now() > search.deadline) search.stoppedBy = 'time';
}

function isApproved({ protectedPaths, allowProtected }: Workplace['guard'], path: string): boolean {
  if (protectedPaths.reasonFor(path, 'read') === undefined || allowProtected === true) return true;
  return allowProtected !== false && allowProtected.includes(path);
}

function tryRead(entry: Entry, path: string, maxBytes: number): Buffer | undefined {
  try {
    return readWhole(entry, path, maxBytes).bytes;
  } catch {
    return undefined;
  }
}

function addMatches(search: Search, path: string, text: string): void {
  const { pattern, contextLines, deadline, workplace } = search;
  search.filesSearched += 1;
  const options = { contextLines, lineCharacters: workplace.limits.lineCharacters, deadline };
  for (const found of matchesIn(text, pattern, options)) {
    if (found === 'time') {
      search.stoppedBy = 'time';
      return;
    }
    if (search.matches.length >= search.limit || search.charactersLeft <= 0) {
      search.stoppedBy = 'matches';
      return;
    }
    const lines = [found.text, ...found.before, ...found.after];
    search.charactersLeft -= lines.reduce((sum, line) => sum + line.length + 8, path.length + 64);
    search.matches.push({ path, ...found });
  }
}

function report({ matches, filesSearched, skipped, stoppedBy }: Search): SearchOutput {
  return { matches, files_searched: filesSearched, skipped, stopped_by: stoppedBy };
}
