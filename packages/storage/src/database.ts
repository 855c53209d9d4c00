import type { Kysely } from 'kysely';
import type { CommitOutcome, CommitUnit, Notification } from './unit.ts';

export type ReadQueries<Schema> = Pick<
  Kysely<Schema>,
  'selectFrom' | 'selectNoFrom' | 'with' | 'withRecursive' | 'fn' | 'dynamic'
>;

/** Builders only: what they build becomes a step of a unit, and executing it is refused. */
export type WriteQueries<Schema> = Pick<
  Kysely<Schema>,
  'insertInto' | 'updateTable' | 'deleteFrom' | 'mergeInto' | 'fn' | 'dynamic'
>;

/** After a `gap` notifications may have been missed, and only reading again tells what happened. */
export type SubscriptionEvent = ({ readonly kind: 'notified' } & Notification) | { readonly kind: 'gap' };

export interface Subscription {
  close(): void;
}

/** For the few who look at what only one of the databases has. */
export type Dialect = 'sqlite' | 'postgres';

/** One store for the whole system. The event loop never waits on its disk. */
export interface Database<Schema> {
  readonly dialect: Dialect;
  /** Sees every unit acknowledged before the query was made. Writing through it fails with `storage.read_only`. */
  readonly read: ReadQueries<Schema>;
  readonly write: WriteQueries<Schema>;
  /**
   * Applies the unit whole or not at all; when it resolves to `committed`, the unit survives a crash of the machine.
   * Throws `StorageError` when nothing was written, except for `storage.outcome_unknown`, which says just that.
   */
  commit(unit: CommitUnit): Promise<CommitOutcome>;
  /**
   * Resolves when what committed units deleted or overwrote is no longer in the database's own files; throws
   * `storage.locked` when readers kept it there. PostgreSQL has no such promise to give: there it asks for a vacuum, and
   * old versions remain in its log and backups.
   */
  scrub(): Promise<void>;
  /** Resolves when every later notification will be told, from this and from other processes. */
  subscribe(channel: string, listener: (event: SubscriptionEvent) => void): Promise<Subscription>;
  /** Waits for the units under way; later calls fail with `storage.closed`. */
  close(): Promise<void>;
}
