import { closeSync, type Dirent, opendirSync } from 'node:fs';
import { type IgnoreRules, parseIgnoreRules } from './ignore-rules.ts';
import { readWhole } from './open-file.ts';
import { type Entry, isAbsence, openEntry } from './walk-path.ts';

export interface VisitOptions {
  /** 1: only what is directly in it. */
  readonly depth: number;
  /** Leave out what `.gitignore` and `.ignore` name, and `.git` itself. */
  readonly useIgnoreFiles: boolean;
  /** Names that begin with a dot. */
  readonly hidden: boolean;
}

export interface Visited {
  /** Relative to the workspace. */
  readonly path: string;
  readonly directory: number;
  readonly name: string;
  readonly entry: Entry;
  readonly depth: number;
}

/** Counts down over the whole visit; a tree of any size costs no more. */
export interface VisitBudget {
  entries: number;
  /** Names that could not be opened: not UTF-8, gone meanwhile, or closed to us. */
  unreadable: number;
}

type Verdict = 'stop' | 'go_on';

interface Level {
  readonly fd: number;
  readonly path: string;
  readonly depth: number;
  readonly rules: readonly { readonly at: string; readonly rules: IgnoreRules }[];
}

const IGNORE_FILES = ['.gitignore', '.ignore'];
const MAX_IGNORE_BYTES = 64 * 1024;

export interface Visit {
  readonly start: { readonly fd: number; readonly path: string };
  readonly options: VisitOptions;
  readonly budget: VisitBudget;
  see(visited: Visited): Verdict;
}

/** Everything below, names in order, directories before what is in them. Links are seen and never followed. */
export function visitTree(visit: Visit): Verdict {
  return visitLevel(visit, { ...visit.start, depth: 1, rules: [] });
}

function visitLevel(visit: Visit, level: Level): Verdict {
  const { options, budget } = visit;
  const entries = listNames(level, budget);
  const here = options.useIgnoreFiles ? { ...level, rules: [...level.rules, ...rulesIn(level, entries)] } : level;
  for (const { name } of entries) {
    if (!options.hidden && name.startsWith('.')) continue;
    if (visitEntry(visit, here, name) === 'stop') return 'stop';
  }
  return budget.entries > 0 ? 'go_on' : 'stop';
}

function visitEntry(visit: Visit, level: Level, name: string): Verdict {
  const { options, budget } = visit;
  const entry = tryOpen(level.fd, name);
  if (entry === undefined) {
    budget.unreadable += 1;
    return 'go_on';
  }
  try {
    const path = level.path === '' ? name : `${level.path}/${name}`;
    const isDirectory = entry.stat.isDirectory();
    if (options.useIgnoreFiles && isIgnored(level, { path, name, isDirectory })) return 'go_on';
    const verdict = visit.see({ path, directory: level.fd, name, entry, depth: level.depth });
    if (verdict === 'stop' || !isDirectory || level.depth >= options.depth) return verdict;
    return visitLevel(visit, { fd: entry.fd, path, depth: level.depth + 1, rules: level.rules });
  } finally {
    closeSync(entry.fd);
  }
}

/** SECURITY: T-17 — a directory of a million names is read piece by piece, and no further than the budget. */
function listNames({ fd }: Level, budget: VisitBudget): readonly Dirent[] {
  const names: Dirent[] = [];
  const directory = tryDirectory(fd);
  if (directory === undefined) {
    budget.unreadable += 1;
    return names;
  }
  try {
    while (budget.entries > 0) {
      const entry = directory.readSync();
      if (entry === null) break;
      budget.entries -= 1;
      names.push(entry);
    }
  } finally {
    directory.closeSync();
  }
  return names.toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

function tryDirectory(fd: number): ReturnType<typeof opendirSync> | undefined {
  try {
    return opendirSync(`/proc/self/fd/${fd}`, { bufferSize: 256 });
  } catch {
    return undefined;
  }
}

function tryOpen(directory: number, name: string): Entry | undefined {
  try {
    return openEntry(directory, name);
  } catch (error) {
    // Names that are not UTF-8 come with replacement characters, and nothing is called that.
    if (isAbsence(error) || (error instanceof Error && 'code' in error)) return undefined;
    throw error;
  }
}

function rulesIn(level: Level, entries: readonly Dirent[]): Level['rules'] {
  return IGNORE_FILES.filter((name) => entries.some((entry) => entry.name === name)).flatMap((name) => {
    const entry = tryOpen(level.fd, name);
    if (entry === undefined) return [];
    try {
      const { bytes } = readWhole(entry, name, MAX_IGNORE_BYTES);
      return [{ at: level.path, rules: parseIgnoreRules(bytes.toString('utf8')) }];
    } catch {
      // Rules that cannot be read ignore nothing.
      return [];
    } finally {
      closeSync(entry.fd);
    }
  });
}

function isIgnored(
  { rules }: Level,
  { path, name, isDirectory }: { readonly path: string; readonly name: string; readonly isDirectory: boolean },
): boolean {
  if (name === '.git') return true;
  for (const each of rules.toReversed()) {
    const decided = each.rules.decide(each.at === '' ? path : path.slice(each.at.length + 1), isDirectory);
    if (decided !== undefined) return decided === 'ignored';
  }
  return false;
}
