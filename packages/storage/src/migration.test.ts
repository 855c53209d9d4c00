import { describe, expect, test } from 'vitest';
import { type Migration, pendingMigrations, renderMigrations } from './migration.ts';
import { SQLITE_TYPES } from './sqlite/migrate.ts';

const migration = (id: string, sql = `create table t (id text)`): Migration => ({ id, statements: () => [sql] });
const render = (...migrations: readonly Migration[]) => renderMigrations(migrations, SQLITE_TYPES);
const ids = (migrations: readonly { readonly id: string }[]) => migrations.map(({ id }) => id);

describe('pending migrations', () => {
  test('are those that were not applied, in the order of the list', () => {
    const wanted = render(migration('a/0001-x'), migration('b/0001-x'), migration('a/0002-y'));
    expect(ids(pendingMigrations(wanted, wanted.slice(0, 1)))).toEqual(['b/0001-x', 'a/0002-y']);
    expect(pendingMigrations(wanted, wanted)).toEqual([]);
  });

  test('of one owner may be new while another owner is already further', () => {
    const wanted = render(migration('a/0001-x'), migration('b/0001-x'), migration('b/0002-y'));
    expect(ids(pendingMigrations(wanted, wanted.slice(1)))).toEqual(['a/0001-x']);
  });

  test('that later ones of the same owner overtook are refused', () => {
    const wanted = render(migration('a/0001-x'), migration('a/0002-y'));
    expect(() => pendingMigrations(wanted, wanted.slice(1))).toThrow(
      expect.objectContaining({
        code: 'storage.invalid_migration',
        message: 'Migration a/0001-x was left out when later ones were applied.',
      }),
    );
  });
});

test.each(['A/0001-x', 'a/1-x', 'a/0001', 'a/0001-X', '../0001-x', 'a/0001-x; drop', ''])(
  '%j is not a migration id',
  (id) => {
    expect(() => render(migration(id))).toThrow(expect.objectContaining({ code: 'storage.invalid_migration' }));
  },
);

test('the checksum covers every statement and where one ends', () => {
  const one = renderMigrations([{ id: 'a/0001-x', statements: () => ['ab', 'c'] }], SQLITE_TYPES);
  const two = renderMigrations([{ id: 'a/0001-x', statements: () => ['a', 'bc'] }], SQLITE_TYPES);
  expect(one[0]?.checksum).not.toBe(two[0]?.checksum);
});

test('a constraint that is checked only at the end of a transaction is refused', () => {
  expect(() =>
    render(migration('a/0001-x', 'create table t (p text references q deferrable initially deferred)')),
  ).toThrow(expect.objectContaining({ code: 'storage.invalid_migration' }));
});
