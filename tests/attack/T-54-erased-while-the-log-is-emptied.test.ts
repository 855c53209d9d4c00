// T-54: something is erased while a thread brings older pages of it from the write-ahead log into the database.
import { readFileSync, statSync } from 'node:fs';
import { statement } from '@palyra/storage';
import { type Ledger, openLedger } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryLedger } from '../integration/temporary-ledger.ts';
import { uniqueMark } from './sandboxed.ts';

const MIB = 1024 * 1024;
/** With what is erased more than the log holds before it is emptied. */
const FILLING = 18;
/** Every sixteenth commit looks whether it is full. */
const LOOKED_AT = 16;

async function insert(ledger: Ledger, id: string, bytes: Uint8Array): Promise<void> {
  await ledger.commit({
    steps: [statement(ledger.write.insertInto('specimens').values({ id, bytes }), { rows: 1 })],
  });
}

test('is neither in the log nor in the database when the erasure is over, whoever works on them meanwhile', async () => {
  await using place = await temporaryLedger();
  const { location } = place;
  if (location.kind !== 'sqlite') throw new Error('This is about SQLite.');
  const ledger = await openLedger({ location });
  for (let round = 0; round < 4; round += 1) {
    const mark = uniqueMark();
    await insert(ledger, mark, Buffer.alloc(MIB, mark));
    for (let row = 0; row < FILLING; row += 1) await insert(ledger, `${round} ${row}`, new Uint8Array(MIB));
    for (let commit = 0; commit < LOOKED_AT; commit += 1) await ledger.commit({ steps: [] });
    await ledger.commit({
      steps: [statement(ledger.write.deleteFrom('specimens').where('id', '=', mark), { rows: 1 })],
    });
    const others = Promise.all(['a', 'b', 'c'].map((id) => insert(ledger, `${round} ${id}`, new Uint8Array(MIB))));
    await ledger.scrub();
    await others;
    for (const file of [location.path, `${location.path}-wal`]) expect(readFileSync(file).includes(mark)).toBe(false);
  }
  await ledger.close();
  expect(statSync(`${location.path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
});
