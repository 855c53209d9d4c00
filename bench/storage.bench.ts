import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, type Migration, openDatabase, statement } from '@palyra/storage';
import { type Contender, defineBenchmark } from './harness.ts';
import { directoryOnDisk, rawAppends } from './raw-appends.ts';

interface Schema {
  events: { id: string; body: string };
}

interface Context {
  readonly directory: string;
}

const MIGRATION: Migration = {
  id: 'bench/0001-events',
  statements: (t) => [`create table events (id ${t.text} primary key, body ${t.text} not null)${t.strict}`],
};

/** About the size of a journal entry. */
const BODY = 'x'.repeat(424);

export default defineBenchmark<Context>({
  name: 'storage',
  description: 'Durable appends of one row by 1, 8 and 64 writers, against raw fdatasync one after another.',
  baseline: 'fdatasync',
  ratioOf: 'per_s',
  setup: async () => ({ directory: await directoryOnDisk() }),
  teardown: ({ directory }) => rm(directory, { recursive: true }),
  contenders: [rawAppends(), sqliteAppends('w1', 1), sqliteAppends('w8', 8), sqliteAppends('w64', 64)],
});

function sqliteAppends(name: string, concurrency: number): Contender<Context> {
  return {
    name,
    concurrency,
    async prepare({ directory }) {
      const database: Database<Schema> = await openDatabase<Schema>({
        location: { kind: 'sqlite', path: join(directory, `${name}.db`) },
        migrations: [MIGRATION],
        programs: [],
        lockTimeoutMs: 5_000,
        logger: { error: () => undefined },
      });
      return {
        async operation(index) {
          const row = database.write.insertInto('events').values({ id: `${index}`, body: BODY });
          await database.commit({ steps: [statement(row, { rows: 1 })] });
        },
        close: () => database.close(),
      };
    },
  };
}
