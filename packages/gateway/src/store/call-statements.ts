import { type Database, reusableStatement, type Step } from '@palyra/storage';
import type { CallRow, GatewaySchema } from './gateway-schema.ts';

/** What every call writes to its tables. */
export interface CallStatements {
  /** Holds only while the run is open and has calls left. */
  countCall(values: { readonly run: string }): Step;
  countRefusal(values: { readonly run: string }): Step;
  /** Holds only while no other call of the run has its key. */
  insertCall(row: CallRow): Step;
  /** The row of a refusal, unless another call has the key: that one answers it. */
  insertRefused(row: CallRow): Step;
  /** Holds only for a call that is under way. */
  endCall(values: Pick<CallRow, 'id' | 'result' | 'output' | 'told'>): Step;
}

/** Built once for a database. */
export function callStatements({ write }: Pick<Database<GatewaySchema>, 'write'>): CallStatements {
  const insertion = (value: (name: keyof CallRow) => never) =>
    write
      .insertInto('gateway_calls')
      .values({
        id: value('id'),
        run: value('run'),
        key: value('key'),
        input: value('input'),
        tool: value('tool'),
        state: value('state'),
        owner: value('owner'),
        facts: value('facts'),
        result: value('result'),
        output: value('output'),
        told: value('told'),
      })
      .onConflict((conflict) => conflict.doNothing());
  return {
    countCall: reusableStatement<'run'>(
      (value) =>
        write
          .updateTable('gateway_runs')
          .set((eb) => ({ calls: eb('calls', '+', 1) }))
          .where('id', '=', value('run'))
          .where('state', '=', 'open')
          .whereRef('calls', '<', 'max_calls'),
      { rows: 1 },
    ),
    countRefusal: reusableStatement<'run'>(
      (value) =>
        write
          .updateTable('gateway_runs')
          .set((eb) => ({ refused: eb('refused', '+', 1) }))
          .where('id', '=', value('run')),
      { rows: 1 },
    ),
    insertCall: reusableStatement<keyof CallRow>(insertion, { rows: 1 }),
    insertRefused: reusableStatement<keyof CallRow>(insertion),
    endCall: reusableStatement<'id' | 'result' | 'output' | 'told'>(
      (value) =>
        write
          .updateTable('gateway_calls')
          .set({ state: 'ended', result: value('result'), output: value('output'), told: value('told') })
          .where('id', '=', value('id'))
          .where('state', '=', 'executing'),
      { rows: 1 },
    ),
  };
}
