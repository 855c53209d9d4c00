import wabtModule from 'wabt';

/** Says again what it is told, in our own ABI. */
const ECHO = `(module
  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 1024))
  (func (export "palyra_alloc") (param $n i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (local.get $n))))
  (func (export "palyra_call") (param $h i64) (param $p i32) (param $n i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $p)) (i64.const 32)) (i64.extend_i32_u (local.get $n)))))`;

/** The same for Extism, whose inputs and outputs lie in a memory of its own; eight bytes at a time. */
const EXTISM_ECHO = `(module
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_load_u64" (func $load (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (func (export "echo") (result i32) (local $n i64) (local $to i64) (local $at i64)
    (local.set $n (call $length))
    (local.set $to (call $alloc (local.get $n)))
    (loop $next
      (call $store (i64.add (local.get $to) (local.get $at)) (call $load (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 8)))
      (br_if $next (i64.lt_u (local.get $at) (local.get $n))))
    (call $output (local.get $to) (local.get $n))
    (i32.const 0)))`;

export interface WasmGuests {
  readonly ours: Uint8Array;
  readonly extism: Uint8Array;
  /** 256 bytes of JSON. */
  readonly input: Uint8Array;
}

export async function makeGuests(): Promise<WasmGuests> {
  const wabt = await wabtModule();
  const assembled = (text: string) => {
    const parsed = wabt.parseWat('echo.wat', text);
    const { buffer } = parsed.toBinary({});
    parsed.destroy();
    return new Uint8Array(buffer);
  };
  const input = Buffer.from(JSON.stringify({ text: 'x'.repeat(256 - 11) }));
  return { ours: assembled(ECHO), extism: assembled(EXTISM_ECHO), input };
}
