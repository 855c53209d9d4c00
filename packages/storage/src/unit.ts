import type { Compilable, CompiledQuery } from 'kysely';
import { StorageError } from './storage-error.ts';
import { checkParameters, type Row, type StoredValue } from './value.ts';

/** One SQL statement, and how many rows it must touch for the unit to hold. */
export interface StatementStep {
  readonly kind: 'statement';
  readonly sql: string;
  readonly parameters: readonly StoredValue[];
  readonly rows?: number;
}

/** A registered program, run by the writer between the other steps and in the same transaction. */
export interface ProgramStep {
  readonly kind: 'program';
  readonly name: string;
  /** Must survive a structured clone: it is sent to the writer's thread. */
  readonly input: unknown;
}

export type Step = StatementStep | ProgramStep;

/** Told to subscribers after the unit is durable, and never when it is not. */
export interface Notification {
  readonly channel: string;
  readonly payload: string;
}

/** All of it or nothing. There are no interactive write transactions: what must be decided is decided before. */
export interface CommitUnit {
  readonly steps: readonly Step[];
  readonly notifications?: readonly Notification[];
}

export type StepResult =
  | { readonly kind: 'statement'; readonly rowCount: number; readonly rows: readonly Row[] }
  | { readonly kind: 'program'; readonly output: unknown };

/** A conflict is an expected outcome (someone else was first), so it is a value; nothing was written. */
export type CommitOutcome =
  | { readonly kind: 'committed'; readonly results: readonly StepResult[] }
  | { readonly kind: 'conflict'; readonly step: number; readonly expected: number; readonly actual: number };

const CHANGING_QUERIES: ReadonlySet<string> = new Set([
  'InsertQueryNode',
  'UpdateQueryNode',
  'DeleteQueryNode',
  'MergeQueryNode',
]);

/** A step that changes rows. With `rows`, the unit is a compare-and-set: any other count undoes all of it. */
export function statement(query: Compilable, expect: { readonly rows?: number } = {}): StatementStep {
  const compiled = query.compile();
  if (!CHANGING_QUERIES.has(compiled.query.kind)) {
    // A select would guard nothing on PostgreSQL, where another unit may change the row before this one commits.
    throw new StorageError('storage.invalid_statement', 'A unit holds inserts, updates and deletes only.', {
      fix: 'Guard with an update that expects a row count, or read inside a program.',
    });
  }
  return compiledStep(compiled, expect.rows);
}

export function compiledStep(compiled: CompiledQuery, rows?: number): StatementStep {
  const step = { kind: 'statement', sql: compiled.sql, parameters: checkParameters(compiled.parameters) } as const;
  return rows === undefined ? step : { ...step, rows };
}

export function program(name: string, input: unknown): ProgramStep {
  return { kind: 'program', name, input };
}

/** As JSON, with its channel: PostgreSQL carries 8,000 bytes. */
const MAX_NOTIFICATION_BYTES = 7900;
const CHANNEL = /^[a-z][a-z0-9_.]{0,62}$/;

/** PostgreSQL merges equal notifications of one transaction: the contract for both drivers. */
export function checkNotifications(notifications: readonly Notification[]): readonly Notification[] {
  const distinct = new Map<string, Notification>();
  for (const { channel, payload } of notifications) {
    checkChannel(channel);
    checkParameters([payload]);
    if (Buffer.byteLength(JSON.stringify({ channel, payload })) > MAX_NOTIFICATION_BYTES) {
      throw new StorageError(
        'storage.invalid_notification',
        `A notification on ${channel} is over ${MAX_NOTIFICATION_BYTES} bytes.`,
        {
          fix: 'Send an id and let the subscriber read the row.',
        },
      );
    }
    distinct.set(`${channel} ${payload}`, { channel, payload });
  }
  return [...distinct.values()];
}

export function checkChannel(channel: string): void {
  if (CHANNEL.test(channel)) return;
  throw new StorageError(
    'storage.invalid_notification',
    'A channel is not named by lower-case letters, digits, dots and underscores.',
  );
}
