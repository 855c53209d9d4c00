/** T-26: guests that do something else when another of V8's compilers, or another machine, runs them. */
import { GUEST_STACK_MIB } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { runInTier, TIERS, type TieredEnd, type TieredGuest } from '../tiered-guest.ts';

/** How each of the guests ended, tier by tier. */
async function inAllTiers(guests: readonly TieredGuest[]): Promise<readonly (readonly TieredEnd[])[]> {
  const [first, second] = await Promise.all(TIERS.map((tier) => runInTier(tier, guests)));
  return guests.map((_guest, index) => [first, second].flatMap((ends) => ends?.[index] ?? []));
}

const CANONICAL = String(0x7ff8_0000_0000_0000n);
const CANONICAL_32 = String(0x7fc0_0000);

/** Each gives the bits of what it computes. */
const nans: readonly (readonly [string, string, string])[] = [
  [
    'the lesser of a signalling NaN and 1',
    'i64.reinterpret_f64 (f64.min (f64.const nan:0x4) (f64.const 1))',
    CANONICAL,
  ],
  [
    '0 / 0, negative on one kind of machine only',
    'i64.reinterpret_f64 (f64.div (f64.const 0) (f64.const 0))',
    CANONICAL,
  ],
  [
    'one of two NaNs',
    'i64.reinterpret_f64 (f64.add (f64.const nan:0x8000000000001) (f64.const nan:0x8000000000002))',
    CANONICAL,
  ],
  ['a NaN that becomes wider', 'i64.reinterpret_f64 (f64.promote_f32 (f32.const nan:0x4))', CANONICAL],
  [
    'a NaN that becomes narrower',
    'i64.extend_i32_u (i32.reinterpret_f32 (f32.demote_f64 (f64.const nan:0x4)))',
    CANONICAL_32,
  ],
  ['a root that is none', 'i64.extend_i32_u (i32.reinterpret_f32 (f32.sqrt (f32.const -1)))', CANONICAL_32],
  ['a rounded NaN', 'i64.reinterpret_f64 (f64.nearest (f64.const nan:0x4))', CANONICAL],
  [
    'a NaN that other operations took',
    'i64.reinterpret_f64 (f64.mul (f64.sub (f64.const inf) (f64.const inf)) (f64.const 2))',
    CANONICAL,
  ],
  [
    'the sign of a NaN',
    'i64.reinterpret_f64 (f64.copysign (f64.const nan) (f64.div (f64.const 0) (f64.const 0)))',
    CANONICAL,
  ],
  [
    'a NaN in a vector',
    'i64x2.extract_lane 0 (f64x2.min (v128.const f64x2 nan:0x4 0) (v128.const i64x2 0 0))',
    CANONICAL,
  ],
  [
    'a NaN in a vector of four',
    'i64x2.extract_lane 1 (f32x4.div (v128.const i64x2 0 0) (v128.const i64x2 0 0))',
    String(0x7fc0_0000_7fc0_0000n),
  ],
];

test('whatever makes a NaN makes the same one in every tier', async () => {
  const guests = nans.map(([, expression]) => ({
    module: `(module (func (export "f") (result i64) (${expression})))`,
  }));
  const ends = await inAllTiers(guests);
  for (const [index, [what, , bits]] of nans.entries()) {
    const [one, other] = ends[index] ?? [];
    expect({ what, end: one }).toMatchObject({ what, end: { kind: 'returned', what: bits } });
    expect({ what, end: other }).toEqual({ what, end: one });
  }
});

test('a small function that its callers pay for makes the same NaN too', async () => {
  const module = `(module (func $g (result f64) (f64.min (f64.const nan:0x4) (f64.const 1)))
    (func (export "f") (result i64) (i64.reinterpret_f64 (call $g))))`;
  const [ends] = await inAllTiers([{ module }]);
  const end = expect.objectContaining({ kind: 'returned', what: CANONICAL });
  expect(ends).toEqual([end, end]);
});

test('bits that are only moved stay what they are', async () => {
  const module = `(module (memory 1) (func (export "f") (result i64)
    (f64.store (i32.const 0) (f64.neg (f64.const nan:0x4))) (i64.load (i32.const 0))))`;
  const [ends] = await inAllTiers([{ module }]);
  const end = expect.objectContaining({ kind: 'returned', what: String(BigInt.asIntN(64, 0xfff0_0000_0000_0004n)) });
  expect(ends).toEqual([end, end]);
});

const times = (count: number, part: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');

const deep: readonly (readonly [string, string])[] = [
  [
    'vectors that stand on the stack, of a parameter',
    `(func $f (param v128) ${times(500, () => '(local.get 0)')} (call $f (local.get 0)) ${times(500, () => 'drop')})
     (func (export "f") (call $f (v128.const i64x2 0 0)))`,
  ],
  [
    'vectors that stand on the stack, of a global',
    `(global $g (mut v128) (v128.const i64x2 0 0)) (func $f (export "f")
      ${times(500, () => '(global.get $g)')} (call $f) ${times(500, () => '(global.set $g)')})`,
  ],
  [
    'results that V8 keeps room for',
    `(func $f (result ${times(128, () => 'v128')}) (call $f))
     (func (export "f") (call $f) ${times(128, () => 'drop')})`,
  ],
  [
    'parameters and results',
    `(func $f (param ${times(128, () => 'v128')}) (result ${times(128, () => 'v128')})
      (call $f ${times(128, (index) => `(i64x2.add (local.get ${index}) (local.get 0))`)}))
     (func (export "f") (call $f ${times(128, () => '(v128.const i64x2 1 1)')}) ${times(128, () => 'drop')})`,
  ],
  ['its host', '(import "host" "again" (func $h)) (func (export "f") (call $h))'],
  [
    'its host, by reference',
    `(import "host" "again" (func $h)) (table funcref (elem $h)) (func (export "f") (call_indirect (i32.const 0)))`,
  ],
];

test('recursion ends at our limit in every tier, whatever a frame holds', async () => {
  const ends = await inAllTiers(deep.map(([, fields]) => ({ module: `(module ${fields})` })));
  const atOurs = expect.objectContaining({ kind: 'trapped', spent: 'stack' });
  for (const [index, [what]] of deep.entries())
    expect({ what, ends: ends[index] }).toEqual({ what, ends: [atOurs, atOurs] });
});

test('recursion through a function of which V8 keeps a thousand values ends at our limit on the stack we ask for', async () => {
  const value = (index: number) => `(i64.mul (i64.xor (local.get $a) (i64.const ${index * 7 + 3})) (local.get $b))`;
  const stores = (at: number) => times(1_000, (index) => `(i64.store (i32.const ${index * 8 + at}) ${value(index)})`);
  const module = `(module (memory 1) (func $f (param $a i64) (param $b i64)
      ${stores(0)} (call $f (i64.add (local.get $a) (i64.const 1)) (local.get $b)) ${stores(8_000)})
    (func (export "f") (call $f (i64.const 1) (i64.const 5))))`;
  const [ends] = await inAllTiers([{ module, stackMib: GUEST_STACK_MIB }]);
  const atOurs = expect.objectContaining({ kind: 'trapped', spent: 'stack' });
  expect(ends).toEqual([atOurs, atOurs]);
});
