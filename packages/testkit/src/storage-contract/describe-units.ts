import { program, statement } from '@palyra/storage';
import { describe, expect } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import { brokenLink } from './ledger.ts';
import { balanceOf, type Ledger, openLedger, putAccount } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

export function describeUnits(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('units', () => {
    test('all steps of a unit happen, and their results come back in order', async ({ ledger }) => {
      await putAccount(ledger, 'alice', 10);
      const outcome = await ledger.commit({
        steps: [
          statement(ledger.write.insertInto('accounts').values({ id: 'bob', balance: 5 }), { rows: 1 }),
          statement(ledger.write.updateTable('accounts').set({ balance: 7 }).returning('id'), { rows: 2 }),
          program('ledger.append', { body: 'first' }),
        ],
      });
      expect(outcome).toEqual({
        kind: 'committed',
        results: [
          { kind: 'statement', rowCount: 1, rows: [] },
          { kind: 'statement', rowCount: 2, rows: expect.arrayContaining([{ id: 'alice' }, { id: 'bob' }]) },
          { kind: 'program', output: 1 },
        ],
      });
      expect([await balanceOf(ledger, 'alice'), await balanceOf(ledger, 'bob')]).toEqual([7, 7]);
    });

    test('an unexpected row count is a conflict and undoes the steps before it', async ({ ledger }) => {
      await putAccount(ledger, 'alice', 10);
      const outcome = await ledger.commit({
        steps: [
          statement(ledger.write.updateTable('accounts').set({ balance: 0 }).where('id', '=', 'alice'), { rows: 1 }),
          program('ledger.append', { body: 'never' }),
          statement(ledger.write.updateTable('accounts').set({ balance: 10 }).where('id', '=', 'nobody'), { rows: 1 }),
        ],
      });
      expect(outcome).toEqual({ kind: 'conflict', step: 2, expected: 1, actual: 0 });
      expect(await balanceOf(ledger, 'alice')).toBe(10);
      expect(await bodies(ledger)).toEqual([]);
    });

    test('of many units that take the same thing exactly one gets it', async ({ ledger }) => {
      await putAccount(ledger, 'grant', 1);
      const take = () => ({
        steps: [
          statement(
            ledger.write.updateTable('accounts').set({ balance: 0 }).where('id', '=', 'grant').where('balance', '=', 1),
            { rows: 1 },
          ),
          program('ledger.append', { body: 'taken' }),
        ],
      });
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => ledger.commit(take())));
      expect(outcomes.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
      expect(await bodies(ledger)).toEqual(['taken']);
    });

    test('a violated constraint throws, undoes that unit and leaves the units beside it alone', async ({ ledger }) => {
      await putAccount(ledger, 'alice', 10);
      const overdraw = statement(ledger.write.updateTable('accounts').set({ balance: -1 }).where('id', '=', 'alice'));
      const [failed, fine] = await Promise.allSettled([
        ledger.commit({ steps: [program('ledger.append', { body: 'undone' }), overdraw] }),
        ledger.commit({ steps: [program('ledger.append', { body: 'kept' })] }),
      ]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'storage.constraint_violated' } });
      expect(fine).toMatchObject({ status: 'fulfilled', value: { kind: 'committed' } });
      expect(await bodies(ledger)).toEqual(['kept']);
    });

    test('programs see the state of the units before them: the chain has no holes under concurrency', async ({
      ledger,
      place,
    }) => {
      const other = await openLedger({ location: place.location });
      await Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          (i % 2 === 0 ? ledger : other).commit({ steps: [program('ledger.append', { body: `entry ${i}` })] }),
        ),
      );
      const entries = await ledger.read.selectFrom('entries').selectAll().orderBy('seq').execute();
      expect(entries).toHaveLength(200);
      expect(brokenLink(entries)).toBeUndefined();
      await other.close();
    });

    test('a program that throws or meets a conflict undoes its unit', async ({ ledger }) => {
      await expect(
        ledger.commit({ steps: [program('ledger.append', { body: 'a', afterwards: 'throw' })] }),
      ).rejects.toMatchObject({
        code: 'storage.program_failed',
        message: 'The program ledger.append threw: asked to',
      });
      expect(await ledger.commit({ steps: [program('ledger.append', { body: 'b', afterwards: 'conflict' })] })).toEqual(
        {
          kind: 'conflict',
          step: 0,
          expected: 1,
          actual: 0,
        },
      );
      await expect(ledger.commit({ steps: [program('ledger.unknown', {})] })).rejects.toMatchObject({
        code: 'storage.program_failed',
      });
      expect(await bodies(ledger)).toEqual([]);
    });

    test('what a program does to the transaction or returns harms nobody else', async ({ ledger }) => {
      const unit = (body: string, afterwards?: string) =>
        ledger.commit({ steps: [program('ledger.append', { body, afterwards })] });
      const outcomes = await Promise.allSettled([
        unit('one'),
        unit('two', 'return a function'),
        unit('three', 'commit'),
        unit('four'),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
      expect(outcomes[1]).toMatchObject({ reason: { code: 'storage.program_failed' } });
      // In no order: PostgreSQL commits them over several connections.
      expect((await bodies(ledger)).toSorted()).toEqual(['four', 'one']);
      expect(await unit('five')).toMatchObject({ kind: 'committed' });
    });

    test('a unit that meets a unique key fails alone', async ({ ledger }) => {
      await putAccount(ledger, 'alice', 1);
      const again = ledger.write.insertInto('accounts').values({ id: 'alice', balance: 2 });
      const [one, two, three] = await Promise.allSettled([
        putAccount(ledger, 'bob', 1),
        ledger.commit({ steps: [statement(again)] }),
        putAccount(ledger, 'carol', 1),
      ]);
      expect([one.status, two.status, three.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(await balanceOf(ledger, 'carol')).toBe(1);
    });

    test('bytes are taken when the unit is made, not when it is written', async ({ ledger }) => {
      const bytes = new Uint8Array([1, 2, 3]);
      const committed = ledger.commit({
        steps: [statement(ledger.write.insertInto('specimens').values({ id: 'x', bytes }))],
      });
      bytes.fill(9);
      await committed;
      expect(await ledger.read.selectFrom('specimens').select('bytes').execute()).toEqual([
        { bytes: new Uint8Array([1, 2, 3]) },
      ]);
    });

    test('a program whose module is missing or is another one keeps the database closed', async ({ place }) => {
      for (const module of ['file:///nowhere/program.ts', import.meta.url]) {
        const programs = [{ name: 'ledger.append', module }];
        await expect(openLedger({ location: place.location, programs })).rejects.toMatchObject({
          code: 'storage.program_failed',
        });
      }
    });

    test('a thousand units at once are all kept', async ({ ledger }) => {
      const units = Array.from({ length: 1000 }, (_, i) => putAccount(ledger, `account ${i}`, i));
      await Promise.all(units);
      const { total } = await ledger.read
        .selectFrom('accounts')
        .select(({ fn }) => fn.sum<number>('balance').as('total'))
        .executeTakeFirstOrThrow();
      expect(total).toBe((999 * 1000) / 2);
    });

    test('a unit without steps is fine and does nothing', async ({ ledger }) => {
      expect(await ledger.commit({ steps: [] })).toEqual({ kind: 'committed', results: [] });
    });

    test('closing waits for the units under way and refuses later ones', async ({ place }) => {
      const ledger = await openLedger({ location: place.location });
      const underWay = Array.from({ length: 20 }, (_, i) => putAccount(ledger, `account ${i}`, i));
      await ledger.close();
      await Promise.all(underWay);
      await expect(putAccount(ledger, 'late', 1)).rejects.toMatchObject({ code: 'storage.closed' });
      await expect(balanceOf(ledger, 'late')).rejects.toMatchObject({ code: 'storage.closed' });
      await ledger.close();
    });
  });
}

async function bodies(ledger: Ledger): Promise<readonly string[]> {
  const rows = await ledger.read.selectFrom('entries').select('body').orderBy('seq').execute();
  return rows.map(({ body }) => body);
}
