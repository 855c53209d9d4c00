import {
  type AppliedMigration,
  type ColumnTypes,
  MIGRATIONS_TABLE,
  type Migration,
  pendingMigrations,
  type RenderedMigration,
} from '../migration.ts';
import type { Connection } from './connection.ts';
import { sqliteFault } from './sqlite-error.ts';

export const SQLITE_TYPES: ColumnTypes = {
  text: 'text',
  integer: 'integer',
  real: 'real',
  bytes: 'blob',
  strict: ' strict',
  strictByKey: ' strict, without rowid',
};

/** SQLite has no LISTEN: other processes find notifications in this table. */
export const NOTIFICATIONS_MIGRATION: Migration = {
  id: 'storage/0001-notifications',
  statements: (t) => [
    `create table palyra_notifications (
       seq integer primary key autoincrement, channel ${t.text} not null, payload ${t.text} not null, origin ${t.text} not null
     )${t.strict}`,
  ],
};

/**
 * The newest rows are never pruned, so numbers grow without `autoincrement`, which writes another page with each of them.
 */
export const PLAIN_NOTIFICATIONS_MIGRATION: Migration = {
  id: 'storage/0002-plain-notifications',
  statements: (t) => [
    'drop table palyra_notifications',
    `create table palyra_notifications (
       seq integer primary key, channel ${t.text} not null, payload ${t.text} not null, origin ${t.text} not null
     )${t.strict}`,
  ],
};

/** Each migration in its own transaction. Two processes may start at once: the lock is taken before looking. */
export function migrate({ database, query }: Connection, wanted: readonly RenderedMigration[]): void {
  try {
    database.exec(
      `create table if not exists ${MIGRATIONS_TABLE} (id text primary key, checksum text not null, applied_at integer not null) strict`,
    );
    const applied = () =>
      query(`select id, checksum from ${MIGRATIONS_TABLE}`, []).rows as unknown as readonly AppliedMigration[];
    for (const { id } of pendingMigrations(wanted, applied())) {
      database.exec('begin immediate');
      try {
        const migration = pendingMigrations(wanted, applied()).find((pending) => pending.id === id);
        for (const sql of migration?.sql ?? []) database.exec(sql);
        if (migration !== undefined)
          query(`insert into ${MIGRATIONS_TABLE} values (?, ?, ?)`, [id, migration.checksum, Date.now()]);
        database.exec('commit');
      } finally {
        if (database.isTransaction) database.exec('rollback');
      }
    }
  } catch (error) {
    throw sqliteFault(error);
  }
}
