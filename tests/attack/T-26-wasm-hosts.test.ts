// T-26: infinite loops, deep recursion, memory and output to the sky, a start function that never ends — in the hosts.
import { expect, test } from 'vitest';
import { assemble, ECHO, guest, guestText, SPIN } from '../wasm-guests/guests.ts';
import { openWasmPlace, told } from '../wasm-guests/wasm-place.ts';

const GROW = guestText({
  call: `(loop $more
    (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then (unreachable)))
    (br $more)) (i64.const 0)`,
});
const RECURSE = guestText({
  parts: '(func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (local.get 0))))',
  call: '(i64.extend_i32_u (call $down (i32.const 0)))',
});
const STARTS = '(module (memory (export "memory") 1) (func $s (loop $a (br $a))) (start $s) (func (export "_start")))';
const FLOOD = guestText({ call: '(call $packed (i32.const 0) (i32.const 65536))' });
const TRAP = guestText({ call: '(unreachable)' });

test('each runaway is ended as what it is, and its neighbour answers as before', async () => {
  await using place = await openWasmPlace({ limits: { fuel: 2_000_000, memoryPages: 64, outputBytes: 1_000 } });
  const echo = await assemble(ECHO);
  const ends: Record<string, unknown> = {};
  for (const [name, text] of Object.entries({ SPIN, GROW, RECURSE, STARTS, FLOOD, TRAP })) {
    ends[name] = told(await place.call(await assemble(text)));
    ends[`then ${name}`] = told(await place.call(echo, { input: name }));
  }
  expect(ends).toMatchObject({
    SPIN: 'fuel_exhausted',
    GROW: 'memory_exceeded',
    RECURSE: 'depth_exceeded',
    STARTS: 'fuel_exhausted',
    FLOOD: 'output_too_large',
    TRAP: 'trapped',
    'then TRAP': '"TRAP"',
  });
  expect(Object.keys(ends).filter((name) => name.startsWith('then') && ends[name] !== `"${name.slice(5)}"`)).toEqual(
    [],
  );
});

test('a guest that outlives its time costs its process, nobody else, and the pool heals', async () => {
  await using place = await openWasmPlace({ limits: { wallMs: 20_000 } });
  const [spin, echo] = [await assemble(SPIN), await assemble(ECHO)];
  // More fuel than the time is enough for.
  const late = place.call(spin, { limits: { fuel: Number.MAX_SAFE_INTEGER, wallMs: 4_000 } });
  const beside = await Promise.all([1, 2, 3].map((n) => place.call(echo, { input: n, principal: 'agent:two' })));
  expect(beside.map(told)).toEqual(['1', '2', '3']);
  expect(told(await late)).toBe('timed_out');
  expect(told(await place.call(spin, { limits: { fuel: 1_000 } }))).toBe('fuel_exhausted');
});

test('a module that begins too large, and one that is none, are refused before any host starts', async () => {
  await using place = await openWasmPlace({ limits: { memoryPages: 2 } });
  const large = await assemble('(module (memory (export "memory") 3) (func (export "_start")))');
  const component = Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0);
  expect([told(await place.call(large)), told(await place.call(component))]).toEqual([
    'memory_exceeded',
    'invalid_module',
  ]);
  expect(await place.call(component)).toMatchObject({ message: expect.stringMatching(/component/i) });
  expect(place.started).toBe(0);
});

test('host calls are counted, and too many of them end the call', async () => {
  await using place = await openWasmPlace({ limits: { hostCalls: 10 } });
  const chatty = await guest({
    imports: '(import "palyra" "log" (func $log (param i64 i32 i32 i32) (result i32)))',
    call: `(loop $again (drop (call $log (local.get $h) (i32.const 0) (i32.const 0) (i32.const 1))) (br $again)) (i64.const 0)`,
  });
  const outcome = await place.call(chatty);
  expect([told(outcome), outcome.hostCalls]).toEqual(['host_error', 11]);
});
