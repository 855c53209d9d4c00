import wabtModule from 'wabt';

/** Guests of our own ABI in WAT: each is what one sentence says. */
const ALLOC = `
  (memory (export "memory") 1 MAXIMUM)
  (global $next (mut i32) (i32.const 4096))
  (func (export "palyra_alloc") (param $n i32) (result i32)
    (global.get $next)
    (global.set $next (i32.add (global.get $next) (local.get $n))))
  (func $packed (param $p i32) (param $n i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $p)) (i64.const 32)) (i64.extend_i32_u (local.get $n))))`;

export interface GuestText {
  readonly imports?: string;
  /** Between the imports and the call: functions, data, globals. */
  readonly parts?: string;
  /** Of `(param $h i64) (param $p i32) (param $n i32) (result i64)`. */
  readonly call: string;
  readonly maximum?: number;
}

/** A module that answers calls with what `call` says. */
export function guestText({ imports = '', parts = '', call, maximum }: GuestText): string {
  const memory = ALLOC.replace('MAXIMUM', maximum === undefined ? '' : String(maximum));
  return `(module ${imports} ${memory} ${parts}
    (func (export "palyra_call") (param $h i64) (param $p i32) (param $n i32) (result i64) ${call}))`;
}

/** Says again what it is told. */
export const ECHO: string = guestText({ call: '(call $packed (local.get $p) (local.get $n))' });

/** Never ends. */
export const SPIN: string = guestText({ call: '(loop $again (br $again)) (i64.const 0)' });

/** Emits its input, logs it, puts it under the key `k`, and answers with what was there before, or null. */
export const KEEPER: GuestText = {
  imports: `
    (import "palyra" "kv_get" (func $get (param i64 i32 i32) (result i32)))
    (import "palyra" "kv_put" (func $put (param i64 i32 i32 i32 i32) (result i32)))
    (import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))
    (import "palyra" "log" (func $log (param i64 i32 i32 i32) (result i32)))
    (import "palyra" "fetch_result" (func $fetch (param i64 i32 i32) (result i32)))`,
  parts: '(data (i32.const 16) "k") (data (i32.const 32) "null")',
  call: `(local $got i32)
    (drop (call $emit (local.get $h) (local.get $p) (local.get $n)))
    (drop (call $log (local.get $h) (i32.const 1) (local.get $p) (local.get $n)))
    (local.set $got (call $get (local.get $h) (i32.const 16) (i32.const 1)))
    (if (i32.ge_s (local.get $got) (i32.const 0))
      (then (drop (call $fetch (local.get $h) (i32.const 64) (local.get $got))))
      (else (local.set $got (i32.const 4)) (memory.copy (i32.const 64) (i32.const 32) (i32.const 4))))
    (drop (call $put (local.get $h) (i32.const 16) (i32.const 1) (local.get $p) (local.get $n)))
    (call $packed (i32.const 64) (local.get $got))`,
};

let assembler: ReturnType<typeof wabtModule> | undefined;

export async function assemble(text: string): Promise<Uint8Array> {
  assembler ??= wabtModule();
  const parsed = (await assembler).parseWat('guest.wat', text, { exceptions: true, bulk_memory: true, simd: true });
  try {
    return new Uint8Array(parsed.toBinary({}).buffer);
  } finally {
    parsed.destroy();
  }
}

export const guest = (text: GuestText): Promise<Uint8Array> => assemble(guestText(text));
