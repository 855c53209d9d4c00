import { sql } from '@palyra/storage';
import type { RawBuilder, SqlBool } from 'kysely';

/**
 * A log's number and a number in it as one integer: entries and checkpoints are only ever added behind the last one, and
 * a table that is filled in the order of one integer needs no second tree for its key. JavaScript and both databases
 * tell so many apart.
 */
const NUMBER_BITS = 40;

/** How many entries a log can have. */
export const MOST_ENTRIES: number = 2 ** NUMBER_BITS - 1;
/** Each but the first began with a recovery. The next would begin where numbers end. */
export const MOST_LOGS: number = 2 ** (53 - NUMBER_BITS) - 2;

/** What is from here to the first log is of none, but can be read like an entry. */
export const LEAST_ID = 0;
const NO_ID: number = LEAST_ID - 1;

/** Of an entry by its `seq`, of a checkpoint by its `size`. For numbers that neither can have, an id that nothing has. */
export function idOf(log: number, number: number): number {
  const isPossible = log >= 0 && log <= MOST_LOGS && number >= 0 && number <= MOST_ENTRIES;
  return isPossible ? firstOf(log) + number : NO_ID;
}

/** What an id is in this log, also where no entry of it has such a number. */
export function numberIn(log: number, id: number): number {
  return id - firstOf(log);
}

/** A condition: of this log, with numbers from one up to another, which is not included. */
export function within(log: number, from = 0, to: number = firstOf(1)): RawBuilder<SqlBool> {
  const upTo = (number: number) => firstOf(log) + Math.min(number, firstOf(1));
  return sql`id >= ${upTo(from)} and id < ${upTo(to)}`;
}

/** The first that a log can have, and so the end of the one before. */
export function firstOf(log: number): number {
  return log * 2 ** NUMBER_BITS;
}

/**
 * A condition: the columns that people and queries ask for say what the id says. Both databases see to it; whoever edits
 * the schema itself can have them say anything.
 */
export function isTold(number: 'seq' | 'size'): RawBuilder<SqlBool> {
  return sql`log = (${sql.raw(LOG_OF_ID)}) and ${sql.ref(number)} = (${sql.raw(NUMBER_OF_ID)})`;
}

export const LOG_OF_ID: string = `id >> ${NUMBER_BITS}`;
export const NUMBER_OF_ID: string = `id & ${MOST_ENTRIES}`;
