import { type CommitUnit, program, type SubscriptionEvent, statement } from '@palyra/storage';
import { describe, expect, vi } from 'vitest';
import type { MakePlace } from './describe-storage-contract.ts';
import { balanceOf, type Ledger, openLedger } from './ledger-database.ts';
import { ledgerTest } from './ledger-test.ts';

export function describeNotifications(makePlace: MakePlace): void {
  const test = ledgerTest(makePlace);

  describe('notifications', () => {
    test('subscribers here and elsewhere hear of a unit once, in order, and can read what it did', async ({
      ledger,
      place,
    }) => {
      const other = await openLedger({ location: place.location });
      const here = await record(ledger, 'accounts');
      const elsewhere = await record(other, 'accounts');
      for (let i = 0; i < 30; i += 1)
        await ledger.commit({ ...append(`${i}`), notifications: [{ channel: 'accounts', payload: `${i}` }] });

      const expected = Array.from({ length: 30 }, (_, i) => ({
        kind: 'notified',
        channel: 'accounts',
        payload: `${i}`,
      }));
      await vi.waitFor(() => expect([here, elsewhere]).toEqual([expected, expected]), { timeout: 10_000 });
      expect(await other.read.selectFrom('entries').select('seq').execute()).toHaveLength(30);
      await other.close();
    });

    test('a unit that did not happen is not told', async ({ ledger }) => {
      const events = await record(ledger, 'accounts');
      const notifications = [{ channel: 'accounts', payload: 'no' }];
      const conflict = statement(ledger.write.deleteFrom('accounts').where('id', '=', 'nobody'), { rows: 1 });
      await ledger.commit({ steps: [conflict], notifications });
      await ledger
        .commit({ steps: [program('ledger.append', { body: 'x', afterwards: 'throw' })], notifications })
        .catch(() => undefined);
      await ledger.commit({ steps: [], notifications: [{ channel: 'accounts', payload: 'yes' }] });
      await vi.waitFor(() => expect(events).toEqual([{ kind: 'notified', channel: 'accounts', payload: 'yes' }]));
    });

    test('equal notifications of one unit are one, and other channels hear nothing', async ({ ledger }) => {
      const events = await record(ledger, 'accounts');
      const others = await record(ledger, 'others');
      const twice = { channel: 'accounts', payload: 'twice ✓ "quoted"' };
      await ledger.commit({ steps: [], notifications: [twice, twice] });
      await vi.waitFor(() => expect(events).toEqual([{ kind: 'notified', ...twice }]));
      expect(others).toEqual([]);
    });

    test('after closing a subscription nothing is told, and a listener that throws harms nobody', async ({
      ledger,
    }) => {
      const closed: SubscriptionEvent[] = [];
      const subscription = await ledger.subscribe('accounts', (event) => closed.push(event));
      await ledger.subscribe('accounts', () => {
        throw new Error('a bad listener');
      });
      const open = await record(ledger, 'accounts');
      subscription.close();
      await ledger.commit({ steps: [], notifications: [{ channel: 'accounts', payload: 'x' }] });
      await vi.waitFor(() => expect(open).toHaveLength(1));
      expect(closed).toEqual([]);
    });

    test('what a driver could not carry is refused and nothing is written', async ({ ledger }) => {
      const insert = statement(ledger.write.insertInto('accounts').values({ id: 'alice', balance: 1 }));
      for (const notification of [
        { channel: 'accounts', payload: 'ü'.repeat(4000) },
        { channel: 'accounts', payload: '\u0001'.repeat(2000) },
        { channel: 'Accounts; drop table', payload: 'x' },
      ]) {
        await expect(ledger.commit({ steps: [insert], notifications: [notification] })).rejects.toMatchObject({
          code: 'storage.invalid_notification',
        });
      }
      expect(await balanceOf(ledger, 'alice')).toBeUndefined();
      await expect(ledger.subscribe('NO', () => undefined)).rejects.toMatchObject({
        code: 'storage.invalid_notification',
      });
    });
  });
}

async function record(ledger: Ledger, channel: string): Promise<SubscriptionEvent[]> {
  const events: SubscriptionEvent[] = [];
  await ledger.subscribe(channel, (event) => events.push(event));
  return events;
}

function append(body: string): CommitUnit {
  return { steps: [program('ledger.append', { body })] };
}
