import { readFileSync } from 'node:fs';
import { ANSWER } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { openWasmPlace, told } from '../wasm-guests/wasm-place.ts';

const built = (path: string) => new Uint8Array(readFileSync(new URL(`../../examples/wasm/${path}`, import.meta.url)));

test('the examples run in hosts of their own, as they were built: AssemblyScript, C and WAT', async () => {
  await using place = await openWasmPlace();

  const words = await place.call(built('assemblyscript/words.wasm'), { input: 'three little words' });
  expect([told(words), words.hostCalls, Buffer.from(words.log).toString()]).toEqual([
    '{"bytes":20,"words":3}',
    1,
    'info counted\n',
  ]);

  const sorted = await place.call(built('c/sort-lines.wasm'), {
    grants: { prefixes: [{ path: '/tmp', access: 'write', entries: [] }] },
    input: Buffer.from('b\na\nb\n'),
    args: ['- '],
  });
  expect(told(sorted)).toBe('- a\n- b\n');

  const kept = new Map<string, Buffer>();
  const count = () =>
    place.call(built('wat/counter.wasm'), {
      grants: { kv: true },
      async answer(name, body) {
        const key = 'n';
        if (name === 'kv_put') kept.set(key, Buffer.from(body.subarray(5)));
        const value = kept.get(key);
        if (name === 'kv_get' && value === undefined) return { status: ANSWER.absent, body: Buffer.alloc(0) };
        return { status: ANSWER.done, body: name === 'kv_get' ? (value as Buffer) : Buffer.alloc(0) };
      },
    });
  expect([told(await count()), told(await count()), told(await count())]).toEqual(['1', '2', '3']);
});
