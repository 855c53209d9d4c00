/** T-26: guests that never end, or do in one instruction what takes forever. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GuestThread, openGuestThread } from '../metered-guest.ts';

let thread: GuestThread;

beforeAll(() => {
  thread = openGuestThread();
});

afterAll(async () => {
  await thread.close();
});

const FUEL = 2_000_000n;

const endless: readonly (readonly [string, string])[] = [
  ['an empty loop', '(module (func (export "f") (loop (br 0))))'],
  ['a loop closed by br_if', '(module (func (export "f") (loop (br_if 0 (i32.const 1)))))'],
  ['a loop closed by br_table', '(module (func (export "f") (loop (block (block (br_table 0 1 2 (i32.const 9)))))))'],
  ['a loop in a loop', '(module (func (export "f") (loop (loop (br 1)))))'],
  [
    'a loop around a small function that its caller pays for',
    '(module (func $g (drop (i32.add (i32.const 1) (i32.const 2)))) (func (export "f") (loop (call $g) (br 0))))',
  ],
  [
    'indirect calls of small functions',
    '(module (table funcref (elem $g)) (func $g) (func (export "f") (loop (call_indirect (i32.const 0)) (br 0))))',
  ],
  [
    'exponentially many calls',
    '(module (func $g (param i32) (if (local.get 0) (then (call $g (i32.sub (local.get 0) (i32.const 1))) (call $g (i32.sub (local.get 0) (i32.const 1)))))) (func (export "f") (call $g (i32.const 60))))',
  ],
  [
    'a loop of exceptions (try_table)',
    '(module (tag $e) (func $t (throw $e)) (func (export "f") (loop $l (try_table (catch_all $l) (call $t)))))',
  ],
  [
    'a loop of exceptions (try_table that ends its body)',
    '(module (tag $e) (func $t (loop (br_if 0 (i32.const 0))) (throw $e)) (func $g (try_table (catch_all 0) (call $t))) (func (export "f") (loop (call $g) (br 0))))',
  ],
  [
    'a loop of exceptions (try)',
    '(module (tag $e) (func $t (throw $e)) (func (export "f") loop try call $t catch_all end br 0 end))',
  ],
  [
    'exceptions whose handler forgets what the callee used',
    '(module (tag $e) (func $t (local i32) (loop (br_if 0 (i32.lt_s (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1000)))) (throw $e)) (func (export "f") loop try call $t catch_all end br 0 end))',
  ],
  ['calls of the host', '(module (import "host" "tick" (func $h)) (func (export "f") (loop (call $h) (br 0))))'],
  [
    'exceptions of the host',
    '(module (import "host" "fail" (func $h)) (func (export "f") loop try call $h catch_all end br 0 end))',
  ],
  [
    'filling memory again and again',
    '(module (memory 100) (func (export "f") (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 6553600)) (br 0))))',
  ],
  [
    'copying memory again and again',
    '(module (memory 100) (func (export "f") (loop (memory.copy (i32.const 1) (i32.const 0) (i32.const 6553599)) (br 0))))',
  ],
  [
    'growing a table and copying it',
    '(module (table $t 1 funcref) (func (export "f") (drop (table.grow $t (ref.null func) (i32.const 90000))) (loop (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 90000)) (br 0))))',
  ],
];

test.each(endless)('%s is stopped by its fuel', async (_what, module) => {
  const end = await thread.run({ module, call: 'f', fuel: FUEL });
  expect(end).toMatchObject({ kind: 'trapped', spent: 'fuel' });
});

/** Eleven instructions and more, a thousand times. */
const THOUSAND =
  '(local $i i32) (loop $l (br_if $l (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000))))';
/** Nothing is done fewer than ten thousand times below, each for several instructions. */
const LEAST = 50_000n;

test.each([
  [
    'a callee that returns',
    `(module (func $t ${THOUSAND}) (func (export "f") (local $n i32)
      (loop $again (call $t) (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10))))))`,
  ],
  [
    'a callee that throws, and is caught',
    `(module (tag $e) (func $t ${THOUSAND} (throw $e)) (func (export "f") (local $n i32)
      loop $again try call $t catch_all end
      (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10))) end))`,
  ],
  [
    'a callee that throws to a label',
    `(module (tag $e) (func $t ${THOUSAND} (throw $e)) (func $g (loop (br_if 0 (i32.const 0))) (try_table (catch_all 0) (call $t))) (func (export "f") (local $n i32)
      (loop $again (call $g) (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10))))))`,
  ],
  [
    'a callee that is too small to be metered',
    `(module (func $t (param i32) (result i32) (i32.mul (i32.add (local.get 0) (i32.const 1)) (i32.const 3))) (func (export "f") (local $n i32)
      (loop $again ${'(drop (call $t (i32.const 1))) '.repeat(10)}
        (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))))`,
  ],
  [
    'a callee that is reached by reference and too small to be metered',
    `(module (table funcref (elem $t)) (func $t ${'(nop) '.repeat(20)}) (func (export "f") (local $n i32)
      (loop $again ${'(call_indirect (i32.const 0)) '.repeat(10)}
        (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 1000))))))`,
  ],
  [
    'a function that returns from within',
    `(module (func $t (result i32) ${THOUSAND} (return (i32.const 1))) (func (export "f") (local $n i32)
      (loop $again (drop (call $t)) (br_if $again (i32.lt_s (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 10))))))`,
  ],
])('what is done by %s is paid', async (_what, module) => {
  const end = await thread.run({ module, call: 'f', fuel: 10_000_000n });
  const used = end.kind === 'refused' ? 0n : 10_000_000n - end.left;
  expect({ kind: end.kind, isPaid: used >= LEAST, used }).toMatchObject({ kind: 'returned', isPaid: true });
});

test('a start function that never returns is stopped by its fuel', async () => {
  const end = await thread.run({ module: '(module (func $s (loop (br 0))) (start $s))', fuel: FUEL });
  expect(end).toMatchObject({ kind: 'trapped', spent: 'fuel' });
});

test('a module to which nobody has given fuel runs nothing', async () => {
  const module = '(module (import "host" "tick" (func $h)) (func $s (call $h)) (start $s))';
  expect(await thread.run({ module, fuel: 0n })).toMatchObject({ kind: 'trapped', spent: 'fuel', ticks: 0 });
});

test.each([
  ['one function', '(module (func $f (export "f") (call $f)))'],
  ['two functions', '(module (func $f (export "f") (call $g)) (func $g (call $f)))'],
  ['an indirect call', '(module (table funcref (elem $f)) (func $f (export "f") (call_indirect (i32.const 0))))'],
  ['the host', '(module (import "host" "again" (func $h)) (func (export "f") (call $h)))'],
  [
    'frames of thousands of values',
    `(module (func $f (export "f") (param i32) (result i64) (local ${'i64 '.repeat(2000)})
      ${Array.from({ length: 200 }, (_, index) => `(local.set ${index + 1} (i64.extend_i32_s (i32.add (local.get 0) (i32.const ${index}))))`).join(' ')}
      (drop (call $f (i32.add (local.get 0) (i32.const 1))))
      ${Array.from({ length: 200 }, (_, index) => `(local.get ${index + 1})`).join(' ')} ${'i64.add '.repeat(199)}))`,
  ],
  [
    'frames of many vectors',
    `(module (func $f (export "f") (param i32) (local ${'v128 '.repeat(300)})
      ${Array.from({ length: 300 }, (_, index) => `(local.set ${index + 1} (i32x4.splat (local.get 0)))`).join(' ')}
      (call $f (i32.add (local.get 0) (i32.const 1)))
      ${Array.from({ length: 300 }, (_, index) => `(if (v128.any_true (local.get ${index + 1})) (then (call $f (i32.const 0))))`).join(' ')}))`,
  ],
])('recursion through %s ends at our limit, not at that of the machine', async (_what, module) => {
  const end = await thread.run({ module, call: 'f', fuel: 10n ** 12n });
  expect(end).toMatchObject({ kind: 'trapped', spent: 'stack' });
});

test.each([
  ['memory.fill', '(module (memory 1) (func (export "f") (memory.fill (i32.const 0) (i32.const 0) (i32.const -1))))'],
  ['memory.grow', '(module (memory 1) (func (export "f") (drop (memory.grow (i32.const 65535)))))'],
  [
    'table.grow',
    '(module (table $t 1 externref) (func (export "f") (drop (table.grow $t (ref.null extern) (i32.const -1)))))',
  ],
  [
    'table.fill',
    '(module (table $t 1 externref) (func (export "f") (table.fill $t (i32.const 0) (ref.null extern) (i32.const -1))))',
  ],
])('one %s of everything there is costs what it asks for, before it begins', async (_what, module) => {
  const end = await thread.run({ module, call: 'f', fuel: FUEL });
  expect(end).toMatchObject({ kind: 'trapped', spent: 'fuel' });
});

test('memory and tables stop growing at the limits, whatever the module says and however much fuel it has', async () => {
  const module = `(module (memory 1 65536) (table $t 1 funcref)
    (func (export "f") (result i32)
      (loop $m (br_if $m (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
      (loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1)) (i32.const -1))))
      (i32.add (i32.mul (memory.size) (i32.const 1000)) (table.size $t))))`;
  const end = await thread.run({ module, call: 'f', fuel: 10n ** 12n, limits: { memoryPages: 12, tableElements: 34 } });
  expect(end).toMatchObject({ kind: 'returned', what: '12034', spent: 'nothing' });
});

test('the host is not called on credit', async () => {
  const stores = '(i32.store (i32.const 0) (i32.const 1)) '.repeat(40);
  const module = `(module (import "host" "tick" (func $h)) (memory 1)
    (func (export "f") (call $h) ${stores} (if (i32.load (i32.const 0)) (then ${stores} (call $h)))))`;
  const plenty = await thread.run({ module, call: 'f', fuel: 10_000n });
  const used = plenty.kind === 'returned' ? 10_000n - plenty.left : 0n;
  expect(plenty).toMatchObject({ kind: 'returned', ticks: 2 });
  expect(await thread.run({ module, call: 'f', fuel: used - 1n })).toMatchObject({ spent: 'fuel', ticks: 1 });
});

test('the same guest with the same fuel stops at the same place, cold and hot', async () => {
  const module = `(module (import "host" "tick" (func $h)) (func $fib (param i32) (result i32)
      (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (call $h) (local.get 0))
        (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func (export "f") (drop (call $fib (i32.const 30)))))`;
  const first = await thread.run({ module, call: 'f', fuel: 3_000_000n });
  expect(first).toMatchObject({ kind: 'trapped', spent: 'fuel' });
  for (let turn = 0; turn < 4; turn += 1)
    expect(await thread.run({ module, call: 'f', fuel: 3_000_000n })).toEqual(first);
});
