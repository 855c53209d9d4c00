import { type CommitUnit, program, statement } from '@palyra/storage';
import { describe, expect, vi } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import { type Ledger, openLedger, putAccount } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';
import { UNMATCHED, UNSEALABLE } from './seal-entries.ts';

export function describeSeals(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('seals', () => {
    test('a program gets its settings, and its seal comes after all steps of the unit', async ({ ledger }) => {
      const outcome = await ledger.commit({
        steps: [...add('one').steps, ...add('two').steps],
      });
      expect(outcome).toEqual({
        kind: 'committed',
        results: [
          { kind: 'program', output: 'seal' },
          { kind: 'program', output: 'seal' },
        ],
      });
      expect(await seals(ledger)).toEqual([2]);
    });

    test('units that share a commit share a seal, and no unit is left without one', async ({ ledger, place }) => {
      await Promise.all(Array.from({ length: 20 }, (_, i) => ledger.commit(add(`${i}`))));
      const sealed = await seals(ledger);
      expect(sealed.at(-1)).toBe(20);
      // PostgreSQL has a transaction for each unit; there each is sealed by itself.
      const expected = place.location.kind === 'sqlite' ? [20] : Array.from({ length: 20 }, (_, i) => i + 1);
      expect(sealed).toEqual(expected);
    });

    test('what a seal says is told here and elsewhere, once it is durable', async ({ ledger, place }) => {
      const other = await openLedger({ location: place.location });
      const heard: string[][] = [];
      for (const database of [ledger, other]) {
        const payloads: string[] = [];
        heard.push(payloads);
        await database.subscribe('seals', (event) => payloads.push(event.kind === 'notified' ? event.payload : 'gap'));
      }
      await ledger.commit(add('one'));
      await other.commit(add('two'));
      await vi.waitFor(
        () =>
          expect(heard).toEqual([
            ['1', '2'],
            ['1', '2'],
          ]),
        { timeout: 10_000 },
      );
      await other.close();
    });

    test.for([
      ['throws', UNSEALABLE],
      ['meets a conflict', UNMATCHED],
    ] as const)('when a seal %s, nothing of its transaction is kept', async ([, body], { ledger }) => {
      const told: unknown[] = [];
      await ledger.subscribe('seals', (event) => told.push(event));
      const insert = statement(ledger.write.insertInto('accounts').values({ id: 'beside', balance: 1 }));
      await expect(ledger.commit({ steps: [insert, ...add(body).steps] })).rejects.toMatchObject({
        code: 'storage.program_failed',
      });
      expect(await rowsIn(ledger)).toEqual({ accounts: [], entries: [] });

      await ledger.commit(add('afterwards'));
      await vi.waitFor(() => expect(told).toEqual([{ kind: 'notified', channel: 'seals', payload: '1' }]));
    });

    test('a seal that fails takes with it all units that share its transaction', async ({ ledger, place }) => {
      const together = await Promise.allSettled([ledger.commit(add('fine')), ledger.commit(add(UNSEALABLE))]);
      // PostgreSQL has a transaction for each unit; there the other one is kept.
      const isShared = place.location.kind === 'sqlite';
      expect(together.map(({ status }) => status)).toEqual([isShared ? 'rejected' : 'fulfilled', 'rejected']);
      expect(together.filter(({ status }) => status === 'rejected')).toMatchObject(
        (isShared ? [1, 2] : [1]).map(() => ({ reason: { code: 'storage.program_failed' } })),
      );
      expect((await rowsIn(ledger)).entries).toEqual(isShared ? [] : ['fine']);
    });

    test('a unit that met a conflict is not sealed as if it had happened', async ({ ledger }) => {
      await putAccount(ledger, 'grant', 1);
      const take = statement(ledger.write.deleteFrom('accounts').where('id', '=', 'grant'), { rows: 1 });
      const outcomes = await Promise.all(
        ['one', 'two', 'three'].map((body) => ledger.commit({ steps: [...add(body).steps, take] })),
      );
      expect(outcomes.filter(({ kind }) => kind === 'committed')).toHaveLength(1);
      expect(await seals(ledger)).toEqual([1]);

      const told: unknown[] = [];
      await ledger.subscribe('seals', (event) => told.push(event));
      expect(await ledger.commit({ steps: [...add('four').steps, take] })).toMatchObject({ kind: 'conflict' });
      await ledger.commit(add('five'));
      await vi.waitFor(() => expect(told).toEqual([{ kind: 'notified', channel: 'seals', payload: '2' }]));
    });

    test('a violated constraint beside it costs a unit neither its place nor its seal', async ({ ledger }) => {
      await putAccount(ledger, 'taken', 1);
      const again = statement(ledger.write.insertInto('accounts').values({ id: 'taken', balance: 2 }));
      const [one, two, three] = await Promise.allSettled([
        ledger.commit(add('one')),
        ledger.commit({ steps: [...add('two').steps, again] }),
        ledger.commit(add('three')),
      ]);
      expect([one.status, two.status, three.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      // In whichever order: PostgreSQL takes units that are there at once as they come through the lock.
      expect((await rowsIn(ledger)).entries.toSorted()).toEqual(['one', 'three']);
      expect((await seals(ledger)).at(-1)).toBe(2);
    });
  });
}

function add(body: string): CommitUnit {
  return { steps: [program('ledger.seal', { body })] };
}

/** How many entries each seal found. */
async function seals(ledger: Ledger): Promise<readonly number[]> {
  const rows = await ledger.read.selectFrom('accounts').select('balance').where('id', 'like', 'seal %').execute();
  return rows.map(({ balance }) => balance).toSorted((left, right) => left - right);
}

async function rowsIn(ledger: Ledger): Promise<{ accounts: readonly string[]; entries: readonly string[] }> {
  const accounts = await ledger.read.selectFrom('accounts').select('id').execute();
  const entries = await ledger.read.selectFrom('entries').select('body').orderBy('seq').execute();
  return { accounts: accounts.map(({ id }) => id), entries: entries.map(({ body }) => body) };
}
