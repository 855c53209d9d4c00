import { change, type Notification, type ProgramRun, rowsOf, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { chainHash, type LedgerSchema } from './ledger.ts';

export interface SealSettings {
  readonly mark: string;
}

interface SealInput {
  readonly body: string;
}

/** An entry that makes the seal throw after it has written, or expect a row that is not there. */
export const UNSEALABLE = 'unsealable';
export const UNMATCHED = 'unmatched';

/** What the journal does when it signs: the seal leaves an account that says how many entries it found. */
const sealEntries: WriterProgram<SealInput, string, SealSettings, readonly string[]> = {
  name: 'ledger.seal',
  *run(build, { body }, { settings: { mark }, memory }): ProgramRun<string> {
    const ledger = build as unknown as Kysely<LedgerSchema>;
    const [head] = yield* rowsOf(ledger.selectFrom('entries').selectAll().orderBy('seq', 'desc').limit(1));
    const values = { seq: (head?.seq ?? 0) + 1, body, hash: chainHash(head?.hash ?? '', body) };
    yield* change(ledger.insertInto('entries').values(values), 1);
    memory.set([...(memory.get() ?? []), body]);
    return mark;
  },
  *seal(build, { settings: { mark }, memory }): ProgramRun<readonly Notification[]> {
    const ledger = build as unknown as Kysely<LedgerSchema>;
    const entries = yield* rowsOf(ledger.selectFrom('entries').select('body').orderBy('seq'));
    const seals = yield* rowsOf(ledger.selectFrom('accounts').selectAll().where('id', 'like', `${mark} %`));
    // Nothing new since the last seal: the units came to nothing.
    if (seals.some(({ balance }) => balance === entries.length)) return [];
    yield* change(
      ledger.insertInto('accounts').values({ id: `${mark} ${seals.length + 1}`, balance: entries.length }),
      1,
    );
    const remembered = memory.get() ?? [];
    if (entries.slice(-remembered.length).some(({ body }, at) => body !== remembered[at])) throw new Error('forgotten');
    if (entries.some(({ body }) => body === UNSEALABLE)) throw new Error('asked to');
    if (entries.some(({ body }) => body === UNMATCHED)) yield* change(ledger.deleteFrom('specimens'), 1);
    return [{ channel: 'seals', payload: `${entries.length}` }];
  },
};

export default sealEntries;
