import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { renderMigrations } from '../migration.ts';
import type { LoadedProgram, WriterProgram } from '../program.ts';
import type { CommitUnit } from '../unit.ts';
import { openBell } from './bell.ts';
import { openForWriting } from './connection.ts';
import { sqliteBuilder } from './dialect.ts';
import { migrate, NOTIFICATIONS_MIGRATION, SQLITE_TYPES } from './migrate.ts';
import { createWriter } from './writer.ts';

/** Answers with what it remembers, and remembers one more. */
function counting(name: string, keeps: boolean): WriterProgram<never, number, never, number> {
  return {
    name,
    ...(keeps ? { keepsMemory: true } : {}),
    *run(_build, input: { readonly fails?: boolean }, { memory }) {
      const known = memory.get() ?? 0;
      memory.set(known + 1);
      if (input.fails === true) yield { kind: 'statement', sql: 'select 1 where 1 = 0', parameters: [], rows: 1 };
      return known;
    },
  };
}

async function makeWriter() {
  const home = await createTemporaryHome();
  const options = { path: join(home.path, 'x.db'), lockTimeoutMs: 100 };
  const other = openForWriting(options);
  migrate(other, renderMigrations([NOTIFICATIONS_MIGRATION], SQLITE_TYPES));
  const loaded = [counting('keeping', true), counting('forgetting', false)].map(
    (program) => [program.name, { program, settings: undefined }] as unknown as [string, LoadedProgram],
  );
  const writer = createWriter({
    open: () => ({
      ...openForWriting(options),
      requireInPlace: () => undefined,
      log: { look: () => undefined },
      room: { look: () => undefined, forget: () => undefined },
    }),
    programs: new Map(loaded),
    build: sqliteBuilder(),
    origin: 'me',
    bell: openBell(options.path),
  });
  const run = (name: string, input: object = {}) => {
    const unit: CommitUnit = { steps: [{ kind: 'program', name, input }] };
    const [result] = writer.commit([unit]).units;
    return result !== undefined && 'outcome' in result ? result.outcome : undefined;
  };
  const close = async () => {
    writer.close();
    other.close();
    await home[Symbol.asyncDispose]();
  };
  return { run, other, close };
}

const remembered = (output: number) => ({ kind: 'committed', results: [{ kind: 'program', output }] });

test('a program that asks for it remembers from one transaction to the next, another does not', async () => {
  const { run, close } = await makeWriter();
  expect([run('keeping'), run('keeping'), run('keeping')]).toEqual([0, 1, 2].map(remembered));
  expect([run('forgetting'), run('forgetting')]).toEqual([0, 0].map(remembered));
  expect(run('keeping')).toEqual(remembered(3));
  await close();
});

test('it forgets when another connection has written', async () => {
  const { run, other, close } = await makeWriter();
  expect([run('keeping'), run('keeping')]).toEqual([0, 1].map(remembered));
  other.query("insert into palyra_notifications (channel, payload, origin) values ('x', '', 'other')", []);
  expect([run('keeping'), run('keeping')]).toEqual([0, 1].map(remembered));
  await close();
});

test('it forgets with a transaction that came to nothing', async () => {
  const { run, close } = await makeWriter();
  expect([run('keeping'), run('keeping')]).toEqual([0, 1].map(remembered));
  expect(run('keeping', { fails: true })).toMatchObject({ kind: 'conflict' });
  expect(run('keeping')).toEqual(remembered(0));
  await close();
});
