// T-27: imports outside the grants, forged and stale handles, pointers out of bounds, a caught stop, another call's memory.
import { expect, test } from 'vitest';
import { assemble, guest, guestText } from '../wasm-guests/guests.ts';
import { openWasmPlace, told } from '../wasm-guests/wasm-place.ts';

const RANDOM = '(import "palyra" "random" (func $random (param i64 i32 i32) (result i32)))';
const now = (type: string) =>
  guestText({ imports: `(import "palyra" "now" (func $now ${type}))`, call: '(i64.const 0)' });

test('what is imported must be known, of the right type, and granted, before anything runs', async () => {
  await using place = await openWasmPlace();
  const tried = {
    ungranted: now('(param i64) (result i64)'),
    mistyped: now('(param i32) (result i64)'),
    unknown: guestText({ imports: '(import "env" "system" (func (param i32) (result i32)))', call: '(i64.const 0)' }),
    clock: `(module (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
      (memory (export "memory") 1) (func (export "_start")))`,
  };
  const ends = await Promise.all(
    Object.values(tried).map(async (text) => told(await place.call(await assemble(text)))),
  );
  expect(ends).toEqual(['capability_denied', 'invalid_module', 'invalid_module', 'capability_denied']);
  expect(place.started).toBe(0);
  expect(told(await place.call(await assemble(tried.ungranted), { grants: { now: true } }))).toBe('');
});

test('a handle that was made up, and one of an earlier call, get nothing done', async () => {
  await using place = await openWasmPlace();
  const forger = await guest({
    imports: RANDOM,
    call: '(drop (call $random (i64.add (local.get $h) (i64.const 1)) (i32.const 0) (i32.const 8))) (i64.const 0)',
  });
  expect(told(await place.call(forger, { grants: { random: true } }))).toBe('capability_denied');
  // With input it uses the eight bytes of it as the handle; without it tells its own.
  const replayer = await guest({
    imports: RANDOM,
    call: `(if (i32.eq (local.get $n) (i32.const 8))
        (then (drop (call $random (i64.load (local.get $p)) (i32.const 0) (i32.const 8))) (return (i64.const 0))))
      (i64.store (i32.const 16) (local.get $h)) (call $packed (i32.const 16) (i32.const 8))`,
  });
  const first = await place.call(replayer, { grants: { random: true }, input: Buffer.alloc(0) });
  if (first.kind !== 'completed') throw new Error('It did not tell its handle.');
  const stale = await place.call(replayer, { grants: { random: true }, input: first.output });
  expect([first.output.length, told(stale), place.started]).toEqual([8, 'capability_denied', 2]);
});

test('pointers out of bounds end the call, and a stop cannot be caught', async () => {
  await using place = await openWasmPlace();
  const wild = await guest({
    imports: RANDOM,
    call: '(drop (call $random (local.get $h) (i32.const -16) (i32.const 64))) (i64.const 0)',
  });
  expect(told(await place.call(wild, { grants: { random: true } }))).toBe('trapped');
  const claims = await guest({ call: '(call $packed (i32.const 65000) (i32.const 1000))' });
  expect(told(await place.call(claims))).toBe('trapped');
  const stubborn = await guest({
    imports: '(import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))',
    call: `(try (do (drop (call $emit (i64.const 7) (i32.const 0) (i32.const 8)))) (catch_all))
      (drop (call $emit (local.get $h) (local.get $p) (local.get $n)))
      (loop $again (br $again)) (i64.const 0)`,
  });
  const emitted: string[] = [];
  const answer = async (name: string) => {
    emitted.push(name);
    return { status: 0, body: Buffer.alloc(0) };
  };
  const outcome = await place.call(stubborn, { grants: { emit: true }, answer });
  expect([told(outcome), emitted]).toEqual(['capability_denied', []]);
});

/** Leaves its input in memory, a global and a table; tells first how much of an earlier one it finds. */
const PRYING = guestText({
  parts: `
    (table $t 4 funcref) (elem declare func $mark) (func $mark)
    (global $seen (mut i64) (i64.const 0))
    (func $scan (result i32) (local $at i32) (local $found i32)
      (local.set $at (i32.const 8192))
      (loop $next
        (local.set $found (i32.or (local.get $found) (i32.load8_u (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $at) (i32.const 65536))))
      (i32.or (i32.ne (local.get $found) (i32.const 0))
        (i32.or (i32.shl (i64.ne (global.get $seen) (i64.const 0)) (i32.const 1))
          (i32.or (i32.shl (i32.ne (global.get $next) (i32.add (local.get $at) (i32.const 0))) (i32.const 8))
            (i32.shl (i32.eqz (ref.is_null (table.get $t (i32.const 1)))) (i32.const 2))))))`,
  call: `(local $found i32)
    (local.set $found (i32.and (call $scan) (i32.const 7)))
    (memory.copy (i32.const 30000) (local.get $p) (local.get $n))
    (global.set $seen (i64.load (local.get $p)))
    (table.set $t (i32.const 1) (ref.func $mark))
    (i32.store8 (i32.const 16) (i32.add (i32.const 48) (local.get $found)))
    (call $packed (i32.const 16) (i32.const 1))`,
});

test('a guest that looks for an earlier caller’s secret finds nothing, on a warm instance and after growth', async () => {
  await using place = await openWasmPlace();
  const prying = await assemble(PRYING);
  const looks = [];
  for (const secret of ['sk-one-very-secret', 'sk-two-very-secret', 'sk-three']) {
    const outcome = await place.call(prying, { input: secret });
    looks.push([told(outcome), outcome.reused]);
  }
  expect(looks).toEqual([
    ['0', false],
    ['0', true],
    ['0', true],
  ]);
  // What has grown cannot be put back: the next call gets another instance.
  const grown = await assemble(
    PRYING.replace(
      '(local $found i32)\n    (local.set',
      '(local $found i32) (drop (memory.grow (i32.const 1))) (local.set',
    ),
  );
  const after = [await place.call(grown, { input: 'sk-four' }), await place.call(grown, { input: 'sk-five' })];
  expect(after.map((outcome) => [told(outcome), outcome.reused])).toEqual([
    ['0', false],
    ['0', false],
  ]);
});

test('state that nobody can put back means a new instance for every call', async () => {
  await using place = await openWasmPlace();
  const hidden = await guest({
    parts: '(global $v (mut v128) (v128.const i64x2 0 0))',
    call: `(local $was i64) (local.set $was (i64x2.extract_lane 0 (global.get $v)))
      (global.set $v (v128.const i64x2 1 1))
      (i32.store8 (i32.const 16) (i32.add (i32.const 48) (i32.wrap_i64 (local.get $was))))
      (call $packed (i32.const 16) (i32.const 1))`,
  });
  const outcomes = [await place.call(hidden), await place.call(hidden)];
  expect(outcomes.map((outcome) => [told(outcome), outcome.reused])).toEqual([
    ['0', false],
    ['0', false],
  ]);
});
