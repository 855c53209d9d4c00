/** T-26: guests that have V8 or the host do much for little fuel, or for none. */
import { engine, instrument, openMeter } from '@palyra/wasm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assembleText, type GuestThread, openGuestThread } from '../metered-guest.ts';

let thread: GuestThread;

beforeAll(() => {
  thread = openGuestThread();
});

afterAll(async () => {
  await thread.close();
});

const FUEL = 10n ** 9n;
const GROW = '(drop (memory.grow (i32.const 0)))';
const TABLE = '(table $t 1000 funcref) (func $g) (elem declare func $g) (elem $e func $g)';

/** Each is done a thousand times; the fuel is what V8 needs for one, in units of an ordinary instruction. */
test.each([
  ['making the memory anew', '(memory 1)', GROW, 1_000n],
  ['filling nothing', '(memory 1)', '(memory.fill (i32.const 0) (i32.const 0) (i32.const 0))', 8n],
  ['writing a reference', TABLE, '(table.set $t (i32.const 0) (ref.func $g))', 32n],
  ['filling a table', TABLE, '(table.fill $t (i32.const 0) (ref.func $g) (i32.const 100))', 3_200n],
  ['copying a table', TABLE, '(table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 100))', 3_200n],
  ['copying nothing of a table', TABLE, '(table.copy $t $t (i32.const 1) (i32.const 0) (i32.const 0))', 32n],
  ['copying from a segment', TABLE, '(table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1))', 64n],
  ['growing a table', '(table $t 0 externref)', '(drop (table.grow $t (ref.null extern) (i32.const 1)))', 64n],
])('%s costs what it takes', async (_what, fields, instruction, least) => {
  const module = `(module ${fields} (func (export "f") ${`${instruction} `.repeat(1_000)}))`;
  const end = await thread.run({ module, call: 'f', fuel: FUEL });
  const used = end.kind === 'returned' ? FUEL - end.left : 0n;
  expect({ kind: end.kind, isPaid: used >= 1_000n * least, used }).toMatchObject({ kind: 'returned', isPaid: true });
});

test('an exception costs by what it carries', async () => {
  const used = async (values: number): Promise<bigint> => {
    const module = `(module (tag $e (param ${'i64 '.repeat(values)}))
      (func (export "f") try ${'i64.const 0 '.repeat(values)} throw $e catch_all end))`;
    const end = await thread.run({ module, call: 'f', fuel: FUEL });
    return end.kind === 'returned' ? FUEL - end.left : 0n;
  };
  expect((await used(30)) - (await used(0))).toBeGreaterThanOrEqual(30n * 50n);
});

test.each([
  ['exceptions of a thousand bytes', `(tag (param ${'i64 '.repeat(33)}))`],
  ['a large table of exceptions', '(table 1001 exnref)'],
  ['a large table of exceptions, written otherwise', '(table 1001 (ref null exn))'],
])('%s are refused: they live on a heap that no limit counts', async (_what, fields) => {
  expect(instrument(await withExceptions(fields))).toMatchObject({ kind: 'refused', code: 'wasm.too_large' });
});

test('a table of exceptions cannot grow beyond what one may begin with', async () => {
  const metered = instrument(await withExceptions('(table 1 exnref)'));
  if (metered.kind === 'refused') throw new Error(metered.reason);
  const { exports } = new engine.Instance(new engine.Module(metered.bytes));
  const table = exports['t'] as { grow(by: number): number };
  expect(() => table.grow(1_000)).toThrow(RangeError);
});

/** The assembler writes no tables of exceptions, so they are written over tables of functions. */
async function withExceptions(fields: string): Promise<Uint8Array> {
  if (fields.startsWith('(tag')) return assembleText(`(module ${fields})`);
  const size = Number(/\d+/.exec(fields)?.[0]);
  const limits = [0x00, ...(size < 128 ? [size] : [(size % 128) | 0x80, size >> 7])];
  const table = [...(fields.includes('ref null') ? [0x63, 0x69] : [0x69]), ...limits];
  const header = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
  return Uint8Array.from([...header, 4, table.length + 1, 1, ...table, 7, 5, 1, 1, 0x74, 1, 0]);
}

test('a small function that the host calls runs for no less than what it costs', async () => {
  const module = '(module (memory 1) (func (export "f") (result i32) (i32.load (i32.const 0))))';
  expect(await thread.run({ module, call: 'f', fuel: 0n })).toMatchObject({ kind: 'trapped', spent: 'fuel' });
  expect(await thread.run({ module, call: 'f', fuel: 10n })).toMatchObject({ kind: 'returned', left: 7n });
});

test('the host is not called on credit by reference either', async () => {
  const stores = '(i32.store (i32.const 0) (i32.const 1)) '.repeat(40);
  const call = '(call_indirect (i32.const 0))';
  const module = `(module (import "host" "tick" (func $h)) (table funcref (elem $h)) (memory 1)
    (func (export "f") ${call} ${stores} (if (i32.load (i32.const 0)) (then ${stores} ${call}))))`;
  const plenty = await thread.run({ module, call: 'f', fuel: 10_000n });
  const used = plenty.kind === 'returned' ? 10_000n - plenty.left : 0n;
  expect(plenty).toMatchObject({ kind: 'returned', ticks: 2 });
  expect(await thread.run({ module, call: 'f', fuel: used - 1n })).toMatchObject({ spent: 'fuel', ticks: 1 });
});

test('a host cannot be brought to give back what it takes', async () => {
  const metered = instrument(await assembleText('(module (func (export "f")))'));
  if (metered.kind === 'refused') throw new Error(metered.reason);
  const meter = openMeter(new engine.Instance(new engine.Module(metered.bytes)));
  const refusal = expect.objectContaining({ code: 'wasm.bad_limits' });
  meter.give({ fuel: 5n });
  expect(() => meter.take((1n << 64n) - 1n)).toThrow(refusal);
  expect(() => meter.take(-1n)).toThrow(refusal);
  expect(() => meter.give({ fuel: (1n << 64n) + 1n })).toThrow(refusal);
  expect(() => meter.give({ fuel: 1n, stack: 1n << 63n })).toThrow(refusal);
  meter.take(1n << 61n);
  meter.take(1n << 61n);
  expect(() => meter.take(1n << 61n)).toThrow(refusal);
  expect({ spent: meter.spent(), left: meter.left() }).toEqual({ spent: 'fuel', left: 5n - (1n << 62n) });
});
