import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from './wasi.ts';

const OWN = fileURLToPath(new URL('../../tests/vectors/wasi/', import.meta.url));

test('our own behaviours of WASI preview 1 all pass', async () => {
  const told: string[] = [];
  const result = await run(OWN, (line) => told.push(line));
  expect({ result, told }).toEqual({
    result: { suite: 'wasi', total: 28, passed: 28, failed: 0, unsupported: 0 },
    told: [],
  });
});

test('a component is told as unsupported, with the reason, and a wrong expectation as failed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'palyra-wasi-'));
  await writeFile(join(directory, 'component.wasm'), Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0));
  // (module (memory (export "memory") 0) (func (export "_start")))
  const empty = '0061736d01000000010401600000030201000503010000071302066d656d6f72790200065f737461727400000a040102000b';
  await writeFile(join(directory, 'empty.wasm'), Buffer.from(empty, 'hex'));
  await writeFile(join(directory, 'empty.json'), '{"exit_code":3}');
  const told: string[] = [];
  const result = await run(directory, (line) => told.push(line));
  await rm(directory, { recursive: true });
  expect(result).toMatchObject({ total: 2, failed: 1, unsupported: 1 });
  expect(told).toEqual([
    expect.stringMatching(/^unsupported: component\.wasm: .*component/),
    'failed: empty.wasm: exit_code is 0, not 3. ',
  ]);
});
