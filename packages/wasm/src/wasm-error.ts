import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const WASM_ERRORS = {
  'wasm.malformed': 'The bytes are not a WebAssembly module that our reader can follow.',
  'wasm.invalid': 'V8 does not accept the module as it came.',
  'wasm.unsupported': 'The module uses a proposal that Palyra does not run.',
  'wasm.too_large': 'The module holds more of something than the limits allow.',
  'wasm.reserved_name': 'The module imports or exports a name that belongs to the meter.',
  'wasm.bad_limits': 'The limits themselves are not usable.',
  'wasm.instrumentation_failed': 'The metered module could not be made, so there is none to run.',
  'wasm.cache_unusable': 'The directory of metered modules cannot be used safely.',
} as const;

export type WasmErrorCode = keyof typeof WASM_ERRORS;

export class WasmError extends AppError<WasmErrorCode> {}

export function malformed(what: string): WasmError {
  return new WasmError('wasm.malformed', what, { fix: 'Build the module again; its bytes are damaged.' });
}

export function unsupported(proposal: string): WasmError {
  return new WasmError('wasm.unsupported', `The module uses ${proposal}.`, {
    fix: 'Compile the module without this feature.',
  });
}

export function tooLarge(what: string, count: number, most: number): WasmError {
  return new WasmError('wasm.too_large', `${what}: ${count}, at most ${most}.`, {
    fix: 'Make the module smaller, or raise the limit.',
  });
}
