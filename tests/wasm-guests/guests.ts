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
