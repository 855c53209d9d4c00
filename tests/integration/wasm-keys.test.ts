import { join } from 'node:path';
import { GATEWAY_MIGRATIONS, type GatewaySchema, gatewayPrograms } from '@palyra/gateway';
import { type DatabaseOptions, openDatabase, statement } from '@palyra/storage';
import { createTemporaryHome, sharedPostgres } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { wasmKeysOf } from '../../packages/gateway/src/wasm-hosts/wasm-keys.ts';

const OWNER = { principal: 'agent:a', module: 'm' };
const bytes = (text: string): Buffer => Buffer.from(text);

async function open(location: DatabaseOptions['location']) {
  return openDatabase<GatewaySchema>({
    location,
    migrations: GATEWAY_MIGRATIONS,
    programs: gatewayPrograms(),
    lockTimeoutMs: 5_000,
    logger: { error: () => undefined },
  });
}

interface Place extends AsyncDisposable {
  readonly location: DatabaseOptions['location'];
}

const PLACES: readonly (readonly [string, () => Promise<Place>])[] = [
  [
    'sqlite',
    async () => {
      const home = await createTemporaryHome();
      const location = { kind: 'sqlite', path: join(home.path, 'palyra.db') } as const;
      return { location, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
    },
  ],
  [
    'postgres',
    async () => {
      const { url, giveBack } = await sharedPostgres().createDatabase();
      return { location: { kind: 'postgres', url, poolSize: 4 } as const, [Symbol.asyncDispose]: giveBack };
    },
  ],
];

test.each(PLACES)('%s keeps what modules are told, apart by module and principal', async (_name, make) => {
  await using place = await make();
  const database = await open(place.location);
  await using closing = new AsyncDisposableStack();
  closing.defer(() => database.close());
  const mine = wasmKeysOf(database, OWNER);
  const others = [
    wasmKeysOf(database, { principal: 'agent:b', module: 'm' }),
    wasmKeysOf(database, { principal: 'agent:a', module: 'n' }),
  ];
  expect((await mine.get(bytes('k'))).status).toBe(-1);
  const odd = Buffer.from([0, 255, 10, 128]);
  expect((await mine.put(bytes('k'), odd)).status).toBe(0);
  expect((await mine.put(bytes('k'), Buffer.concat([odd, odd]))).status).toBe(0);
  const found = await mine.get(bytes('k'));
  expect([found.status, Buffer.from(found.body).toString('hex')]).toEqual([0, '00ff0a8000ff0a80']);
  for (const other of others) expect((await other.get(bytes('k'))).status).toBe(-1);

  // The same order in every database, whatever language that sorts in.
  for (const key of ['a_b', 'B', 'é', 'a', 'Z', '_', 'aB', '😀']) await mine.put(bytes(key), bytes('1'));
  const listed = async (prefix: string) => JSON.parse(Buffer.from((await mine.list(bytes(prefix))).body).toString());
  expect(await listed('')).toEqual(['B', 'Z', '_', 'a', 'aB', 'a_b', 'k', 'é', '😀']);
  expect(await listed('a')).toEqual(['a', 'aB', 'a_b']);
  expect(await listed('%')).toEqual([]);

  expect((await mine.remove(bytes('k'))).status).toBe(0);
  expect((await mine.remove(bytes('k'))).status).toBe(-1);
  // T-39: neither a NUL, nor bytes that are no text, nor too much of anything.
  const refused = [bytes('a\0b'), Buffer.from([255]), Buffer.alloc(0), Buffer.alloc(257, 'x')];
  for (const key of refused) expect((await mine.put(key, bytes('1'))).status).toBe(-2);
  expect((await mine.put(bytes('big'), Buffer.alloc(65_537))).status).toBe(-2);
  // As many as it may have, and no more, also when many are put at once; what is there can still be changed.
  const many = Array.from({ length: 1_000 - 16 }, (_, at) => ({ ...OWNER, key: `many-${at}`, value: '' }));
  await database.commit({ steps: [statement(database.write.insertInto('gateway_wasm_keys').values(many))] });
  const atOnce = Array.from({ length: 24 }, (_, at) => mine.put(bytes(`at-once-${at}`), bytes('1')));
  const statuses = (await Promise.all(atOnce)).map(({ status }) => status).toSorted((one, other) => one - other);
  expect(statuses).toEqual([...Array(16).fill(-2), ...Array(8).fill(0)]);
  expect((await database.read.selectFrom('gateway_wasm_keys').select('key').execute()).length).toBe(1_000);
  expect((await mine.put(bytes('one-more'), bytes('1'))).status).toBe(-2);
  expect((await mine.put(bytes('many-1'), bytes('2'))).status).toBe(0);
  expect((await others[0]?.put(bytes('k'), bytes('1')))?.status).toBe(0);
});
