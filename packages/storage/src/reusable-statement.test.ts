import { expect, test } from 'vitest';
import { reusableStatement } from './reusable-statement.ts';
import { sqliteBuilder } from './sqlite/dialect.ts';
import { statement } from './unit.ts';

interface Schema {
  readonly t: { readonly id: string; readonly n: number; readonly b: Uint8Array | null };
}
const db = sqliteBuilder<Schema>();

test('is the step that the query with those values would be', () => {
  const update = reusableStatement<'id' | 'n'>(
    (value) =>
      db
        .updateTable('t')
        .set({ n: value('n'), b: null })
        .where('id', '=', value('id'))
        .where('n', '<', 9),
    { rows: 1 },
  );
  const by = (id: string, n: number) =>
    statement(db.updateTable('t').set({ n, b: null }).where('id', '=', id).where('n', '<', 9), { rows: 1 });
  expect([update({ id: 'x', n: 1 }), update({ id: 'y', n: 2 })]).toEqual([by('x', 1), by('y', 2)]);
});

test('checks the values each time, copies bytes, and takes no select', () => {
  const insert = reusableStatement<'id' | 'b'>((value) =>
    db.insertInto('t').values({ id: value('id'), n: 1, b: value('b') }),
  );
  expect(() => insert({ id: '\0', b: null })).toThrow(expect.objectContaining({ code: 'storage.invalid_parameter' }));
  const bytes = new Uint8Array([1]);
  const step = insert({ id: 'x', b: bytes });
  bytes[0] = 2;
  expect(step.parameters).toEqual(['x', 1, new Uint8Array([1])]);
  expect(() => reusableStatement((value) => db.selectFrom('t').selectAll().where('id', '=', value('id')))).toThrow(
    expect.objectContaining({ code: 'storage.invalid_statement' }),
  );
});
