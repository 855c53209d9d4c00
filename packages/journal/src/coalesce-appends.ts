import { type Database, StorageError } from '@palyra/storage';
import { type AppendOptions, type AppendOutcome, type CommitOptions, commitEntries } from './append-entries.ts';
import { JournalError } from './journal-error.ts';
import { hasAct } from './store/apply-entry.ts';
import type { JournalSchema } from './store/journal-schema.ts';
import type { PreparedEntry } from './store/prepared-entry.ts';

export type AppenderOptions = AppendOptions & Pick<CommitOptions, 'signedBy' | 'late'>;

export interface Appender {
  /** Throws as `commitEntries` does. */
  append(entries: readonly PreparedEntry[], options: AppenderOptions): Promise<AppendOutcome>;
}

interface Waiting {
  readonly entries: readonly PreparedEntry[];
  resolve(outcome: AppendOutcome): void;
  reject(error: unknown): void;
}

const MAX_ENTRIES = 512;

/**
 * Of more than this, half go on a turn of the event loop later. Else all of them append again in step: this thread works
 * for all while the writer waits, and then waits while the writer works. Of fewer, sharing a flush gains more.
 */
const MANY_TOGETHER = 24;

/**
 * Appends made in one turn of the event loop share one unit, and so one journey to the writer and back, which costs more
 * than writing an entry. Only those that cannot fail on their own: with steps of other tables, or where an entry does
 * something besides standing in the log, an append is a unit of its own.
 */
export function createAppender(database: Database<JournalSchema>, origin: string): Appender {
  let waiting: Waiting[] = [];

  const commitAlone = ({ entries, resolve, reject }: Waiting) =>
    commitEntries(database, entries, { origin }).then(resolve, reject);

  const commitTogether = async (group: readonly Waiting[]) => {
    try {
      const outcome = await commitEntries(
        database,
        group.flatMap(({ entries }) => entries),
        { origin },
      );
      share(outcome, group);
    } catch (error) {
      // Nothing was written. Whose fault it was shows when each goes alone.
      if (group.length > 1 && isFaultOfOne(error)) await Promise.all(group.map(commitAlone));
      else for (const { reject } of group) reject(error);
    }
  };
  const flush = () => {
    const all = waiting;
    waiting = [];
    for (const group of groupsOf(all)) void commitTogether(group);
  };

  return {
    append(entries, options) {
      const { steps, notifications, signedBy, late } = options;
      const canFailAlone = [steps, notifications, signedBy, late].some((own) => own !== undefined);
      if (canFailAlone || entries.some(hasAct)) return commitEntries(database, entries, { ...options, origin });
      return new Promise((resolve, reject) => {
        if (waiting.length === 0) queueMicrotask(flush);
        waiting.push({ entries, resolve, reject });
      });
    },
  };
}

function groupsOf(all: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const groups: Waiting[][] = [];
  let room = 0;
  for (const each of all) {
    if (room < each.entries.length || groups.length === 0) {
      groups.push([]);
      room = MAX_ENTRIES;
    }
    groups.at(-1)?.push(each);
    room -= each.entries.length;
  }
  return groups;
}

function share(outcome: AppendOutcome, group: readonly Waiting[]): void {
  if (outcome.kind === 'conflict') {
    for (const { resolve } of group) resolve(outcome);
    return;
  }
  let at = 0;
  const answers = group.map(({ entries, resolve }) => {
    const own = outcome.entries.slice(at, at + entries.length);
    at += entries.length;
    return () => resolve({ kind: 'appended', entries: own, results: [] });
  });
  const now = answers.length > MANY_TOGETHER ? Math.ceil(answers.length / 2) : answers.length;
  const tell = (some: typeof answers) => {
    for (const answer of some) answer();
  };
  tell(answers.slice(0, now));
  if (now < answers.length) setImmediate(tell, answers.slice(now));
}

/** Only a body that is already there can be refused to one of them; the rest concerns the log, and so all. */
function isFaultOfOne(error: unknown): boolean {
  return (
    error instanceof JournalError &&
    error.cause instanceof StorageError &&
    error.cause.code === 'storage.constraint_violated'
  );
}
