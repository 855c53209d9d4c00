import { join } from 'node:path';
import { statement } from '@palyra/storage';
import { openGrants } from './grants.ts';
import { holds, type Stage } from './stage.ts';

/** A unit that expects one row is a compare-and-set: of many that race, one commits and the others are told. */
export async function showGrantRace({ home, say }: Stage): Promise<void> {
  const database = await openGrants(join(home, 'race.db'));
  const grant = database.write.insertInto('grants').values({ id: 'once', used_by: null });
  await database.commit({ steps: [statement(grant, { rows: 1 })] });

  const take = (call: string) =>
    database.write.updateTable('grants').set({ used_by: call }).where('id', '=', 'once').where('used_by', 'is', null);
  const calls = Array.from({ length: 50 }, (_, i) => `call ${i + 1}`);
  const outcomes = await Promise.all(
    calls.map((call) => database.commit({ steps: [statement(take(call), { rows: 1 })] })),
  );
  const taken = outcomes.filter(({ kind }) => kind === 'committed').length;
  const { used_by } = await database.read.selectFrom('grants').select('used_by').executeTakeFirstOrThrow();
  await database.close();

  say(`${taken} committed (${used_by}), ${outcomes.length - taken} met a conflict`);
  holds(taken === 1, 'exactly one call used the grant');
}
