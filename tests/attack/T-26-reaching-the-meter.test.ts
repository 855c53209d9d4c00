/** T-26: a guest that writes, reads, replaces or borrows the counter it is held by. */
import { engine, FUEL_EXPORT, instrument, openMeter, RESERVED_PREFIX, STACK_EXPORT, START_EXPORT } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { assembleText } from '../metered-guest.ts';

const invalid: readonly (readonly [string, string])[] = [
  ['refills the global behind its own', '(module (func (export "f") (loop (global.set 0 (i64.const 1000)) (br 0))))'],
  [
    'refills the global behind those it has',
    '(module (global i32 (i32.const 0)) (func (export "f") (loop (global.set 1 (i64.const 1000)) (br 0))))',
  ],
  ['reads the global behind its own', '(module (func (export "f") (result i64) (global.get 0)))'],
  ['deepens its stack', '(module (func $f (export "f") (global.set 1 (i64.const 1000)) (call $f)))'],
  [
    'refills the local behind its own',
    '(module (func (export "f") (param i32) (loop (local.set 1 (i64.const 1000)) (br 0))))',
  ],
  [
    'resets the length that is charged',
    '(module (memory 1) (func (export "f") (memory.fill (i32.const 0) (i32.const 0) (i32.const 9)) (local.set 1 (i32.const 0))))',
  ],
  ['leaves through the block around its body', '(module (func (export "f") (loop (br 2))))'],
  ['exports the global behind its own', '(module (global i32 (i32.const 0)) (export "mine" (global 1)))'],
  [
    'names a type that only the metered module has',
    '(module (func (param i32) (result i32 i32) (loop (br_if 0 (i32.const 0))) (i32.const 1) (i32.const 2)) (func (param i64) (block (type 2) (i32.const 1) (i32.const 2)) (drop) (drop)))',
  ],
];

test.each(invalid)('a module that %s is refused as it came', async (_what, text) => {
  const bytes = await assembleText(text);
  const result = instrument(bytes);
  expect(result).toMatchObject({ kind: 'refused' });
  expect(['wasm.invalid', 'wasm.malformed']).toContain(result.kind === 'refused' ? result.code : '');
});

test('the module that refills its own fuel is invalid raw and would be valid metered', async () => {
  const text = (index: number) =>
    `(module (global (mut i64) (i64.const 0)) (func (export "f") (global.set ${index} (i64.const 1000))))`;
  const honest = instrument(await assembleText(text(0)));
  const attack = await assembleText(text(1));
  // The same bytes but for the index: what the meter would write for the attack, V8 accepts.
  const metered = honest.kind === 'instrumented' ? honest.bytes : new Uint8Array();
  const at = Buffer.from(metered).indexOf(Buffer.from([0x42, 0xe8, 0x07, 0x24, 0x00]));
  const forged = new Uint8Array(metered);
  forged[at + 4] = 1;
  expect({ at: at > 0, raw: engine.validate(attack), metered: engine.validate(forged) }).toEqual({
    at: true,
    raw: false,
    metered: true,
  });
  expect(instrument(attack)).toMatchObject({ kind: 'refused', code: 'wasm.invalid' });
});

test.each([
  ['exports the name of the fuel', `(module (global (export "${FUEL_EXPORT}") (mut i64) (i64.const 9)))`],
  ['exports the name of the stack', `(module (func (export "${STACK_EXPORT}")))`],
  ['exports the name of the start function', `(module (func (export "${START_EXPORT}")))`],
  ['exports any name with the prefix', `(module (func (export "${RESERVED_PREFIX}")))`],
  ['imports a counter by its name', `(module (import "other" "${FUEL_EXPORT}" (global (mut i64))))`],
  ['imports from a module of that name', `(module (import "${RESERVED_PREFIX}x" "y" (func)))`],
  ['imports a memory by such a name', `(module (import "other" "${RESERVED_PREFIX}memory" (memory 1)))`],
])('a guest that %s is refused', async (_what, text) => {
  expect(instrument(await assembleText(text))).toMatchObject({ kind: 'refused', code: 'wasm.reserved_name' });
});

test('two guests that are linked have counters of their own, and neither can name the other’s', async () => {
  const provider = instrument(await assembleText('(module (func (export "f") (loop (br_if 0 (i32.const 0)))))'));
  const consumer = instrument(
    await assembleText('(module (import "p" "f" (func $f)) (func (export "g") (call $f) (call $f)))'),
  );
  if (provider.kind === 'refused' || consumer.kind === 'refused') throw new Error('Both are ordinary modules.');
  const first = new engine.Instance(new engine.Module(provider.bytes));
  const second = new engine.Instance(new engine.Module(consumer.bytes), { p: first.exports });
  const [one, two] = [openMeter(first), openMeter(second)];
  one.give({ fuel: 100n });
  two.give({ fuel: 1_000n });
  (second.exports['g'] as () => void)();
  expect({
    one: one.left() < 100n,
    two: two.left() < 1_000n,
    shared: first.exports[FUEL_EXPORT] === second.exports[FUEL_EXPORT],
  }).toEqual({ one: true, two: true, shared: false });
});

test('bytes that change while they are looked at are looked at once', async () => {
  const bytes = await assembleText(
    '(module (global (mut i64) (i64.const 0)) (func (export "f") (global.set 0 (i64.const 1000))))',
  );
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const { validate } = engine;
  const looked: unknown[] = [];
  // What another thread would do just after V8 has said yes.
  engine.validate = (given) => {
    const isValid = validate.call(engine, given);
    looked.push(given.buffer);
    shared[shared.indexOf(0x24) + 1] = 1;
    return isValid;
  };
  try {
    const result = instrument(shared);
    const before = instrument(bytes);
    expect(result).toMatchObject({ kind: 'instrumented' });
    expect(before.kind === 'instrumented' && result.kind === 'instrumented' && result.digest === before.digest).toBe(
      true,
    );
    expect(looked).not.toContain(shared.buffer);
  } finally {
    engine.validate = validate;
  }
});
