import { change, type ProgramRun, rowsOf, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { chainHash, type LedgerSchema } from './ledger.ts';

interface AppendInput {
  readonly body: string;
  /** Makes the program throw, or expect a row that is not there, after it has written. */
  readonly afterwards?: 'throw' | 'conflict' | 'commit' | 'return a function';
}

/** What the journal will do: take the next number and the head of the chain, and add one entry. */
const appendEntry: WriterProgram<AppendInput, number> = {
  name: 'ledger.append',
  *run(build, { body, afterwards }): ProgramRun<number> {
    const ledger = build as unknown as Kysely<LedgerSchema>;
    const [head] = yield* rowsOf(ledger.selectFrom('entries').selectAll().orderBy('seq', 'desc').limit(1));
    const seq = (head?.seq ?? 0) + 1;
    yield* change(ledger.insertInto('entries').values({ seq, body, hash: chainHash(head?.hash ?? '', body) }), 1);
    if (afterwards === 'throw') throw new Error('asked to');
    if (afterwards === 'conflict') yield* change(ledger.deleteFrom('accounts').where('id', '=', 'nobody'), 1);
    if (afterwards === 'commit') yield { kind: 'statement', sql: '/* sly */ commit', parameters: [] };
    if (afterwards === 'return a function') return (() => seq) as unknown as number;
    return seq;
  },
};

export default appendEntry;
