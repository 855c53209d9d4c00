import type { ProgramRun, TransactionMemory } from '@palyra/storage';
import type { Kysely } from 'kysely';
import type { Signer } from '../format/crypto.ts';
import { decodeFrontier, encodeFrontier, type Frontier } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import type { LogRow } from './journal-schema.ts';
import { one, statementsFor } from './statements.ts';

/** Where the next entry goes. Between the units of a transaction it is only remembered; the row is written at the end. */
export interface LogHead {
  readonly log: LogRow;
  readonly frontier: Frontier;
  /** The hash of the last entry. */
  readonly previous: Uint8Array;
  /** What signs checkpoints with a key that the log certifies, once it was looked for. */
  readonly certified?: Signer;
  /** The attestation key that the log certifies, hexadecimal, once it was looked for. */
  readonly attesting?: string;
}

export type HeadMemory = TransactionMemory<LogHead>;

export function* readHead(build: Kysely<never>): ProgramRun<LogHead | undefined> {
  const log = yield* currentLogRow(build);
  return log === undefined ? undefined : headOf(log);
}

export function headOf(log: LogRow): LogHead {
  const frontier = decodeFrontier(log.size, log.frontier);
  if (frontier === undefined) throw new JournalError('journal.not_recorded', 'The head of the log is damaged.');
  return { log, frontier, previous: log.head };
}

/** Writes what is remembered into the log's row, and forgets it: the next to need it reads the row. */
export function* keepHead(build: Kysely<never>, memory: HeadMemory): ProgramRun<void> {
  const head = memory.get();
  if (head === undefined) return;
  const { log, frontier, previous } = head;
  yield one(statementsFor(build).updateLog, [
    frontier.size,
    previous,
    encodeFrontier(frontier),
    log.sealed,
    log.number,
  ]);
  memory.set(undefined);
}

export function* currentLogRow(build: Kysely<never>): ProgramRun<LogRow | undefined> {
  const { rows } = yield { kind: 'statement', sql: statementsFor(build).selectLog, parameters: [] };
  return rows[0] as LogRow | undefined;
}
