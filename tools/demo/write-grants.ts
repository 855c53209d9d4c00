import { writeSync } from 'node:fs';
import { statement } from '@palyra/storage';
import { openGrants } from './grants.ts';

/** Writes until it is killed, and prints each row's id once the database has acknowledged it. */
const database = await openGrants(String(process.argv[2]));
await Promise.all(Array.from({ length: 16 }, (_, writer) => writeForever(writer)));

async function writeForever(writer: number): Promise<never> {
  for (let i = 0; ; i += 1) {
    const id = `${writer}-${i}`;
    await database.commit({
      steps: [statement(database.write.insertInto('grants').values({ id, used_by: null }), { rows: 1 })],
    });
    writeSync(1, `${id}\n`);
  }
}
