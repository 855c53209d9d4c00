/** Started by ordinary-user.test.ts; prints what it finds itself to be. */
import { accessSync, constants } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@palyra/primitives';
import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';

const kysely = new Kysely<{ t: { id: number } }>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const file = fileURLToPath(import.meta.url);
const report = {
  uid: process.getuid?.(),
  version: process.version,
  execPath: process.execPath,
  file,
  primitives: systemClock.now() > 0 ? import.meta.resolve('@palyra/primitives') : '',
  query: kysely.selectFrom('t').select('id').compile().sql,
  args: process.argv.slice(2),
  mark: process.env['MARK'],
  stdin: await text(process.stdin),
  homeWritable: isWritable(process.env['HOME'] ?? ''),
  checkoutWritable: isWritable(file),
};
process.stdout.write(JSON.stringify(report));
