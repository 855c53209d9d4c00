import type { ModuleExport, ModuleImport, ModuleInterface, ValueTypeName } from './describe-module.ts';
import {
  ALWAYS_LINKED,
  PALYRA_IMPORTS,
  PALYRA_MODULE,
  WASI_GRANTS,
  WASI_IMPORTS,
  WASI_MODULE,
} from './host/known-imports.ts';
import { grantedFunctions, type WasmGrants } from './wasm-grants.ts';
import { failedBefore, type WasmOutcome } from './wasm-outcome.ts';

export type GuestAbi = 'palyra' | 'wasi_command';

export type CheckedGuest =
  | { readonly kind: 'sound'; readonly abi: GuestAbi; readonly functions: readonly string[] }
  | { readonly kind: 'refused'; readonly outcome: Extract<WasmOutcome<never>, { kind: 'failed' }> };

/** SECURITY: T-27 — before anything of it runs: every import is one we know, of the type we know, and granted. */
export function checkGuest({ imports, exports }: ModuleInterface, grants: WasmGrants): CheckedGuest {
  const functions = grantedFunctions(grants);
  for (const each of imports) {
    const why = whyNot(each, functions);
    if (why !== undefined) return { kind: 'refused', outcome: why };
  }
  const has = (name: string, type: string) =>
    exports.some((each) => each.name === name && each.kind === 'function' && typeOf(each) === type);
  if (has('palyra_call', 'Iii>I')) {
    if (has('palyra_alloc', 'i>i') && exports.some(isMemory)) return { kind: 'sound', abi: 'palyra', functions };
    return refused('It exports palyra_call, but not memory and palyra_alloc: (i32) -> i32.');
  }
  if (has('_start', '>')) return { kind: 'sound', abi: 'wasi_command', functions };
  return refused('It exports neither palyra_call: (i64, i32, i32) -> i64 nor the _start of a WASI command.');
}

function isMemory({ kind }: ModuleExport): boolean {
  return kind === 'memory';
}

function whyNot(
  each: ModuleImport,
  functions: readonly string[],
): Extract<WasmOutcome<never>, { kind: 'failed' }> | undefined {
  const { module, name, kind } = each;
  const known = knownType(module, name);
  if (known === undefined || kind !== 'function') {
    return failedBefore(
      'invalid_module',
      `It imports ${JSON.stringify(`${module}.${name}`)}, which there is not.`,
      'docs/reference/wasm.md lists what a guest may import.',
    );
  }
  if (typeOf(each) !== known) {
    return failedBefore(
      'invalid_module',
      `It imports ${module}.${name} with another type than it has.`,
      'docs/reference/wasm.md has the types.',
    );
  }
  const grant = module === WASI_MODULE ? WASI_GRANTS[name] : ALWAYS_LINKED.includes(name) ? undefined : name;
  if (grant === undefined || functions.includes(grant)) return undefined;
  return failedBefore(
    'capability_denied',
    `It imports ${module}.${name}, which it was not granted.`,
    `Grant it ${GRANT_NAMES[grant] ?? grant}, or use a module that does without.`,
  );
}

/** By the name in a module's manifest. */
const GRANT_NAMES: Readonly<Record<string, string>> = {
  kv_get: 'kv',
  kv_put: 'kv',
  kv_delete: 'kv',
  kv_list: 'kv',
  http_request: 'http',
  secret_use: 'secrets',
};

function knownType(module: string, name: string): string | undefined {
  const table = module === PALYRA_MODULE ? PALYRA_IMPORTS : module === WASI_MODULE ? WASI_IMPORTS : {};
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

const LETTERS: Readonly<Partial<Record<ValueTypeName, string>>> = { i32: 'i', i64: 'I' };

function typeOf({ signature }: ModuleImport | ModuleExport): string {
  const letters = (types: readonly ValueTypeName[]) => types.map((type) => LETTERS[type] ?? '?').join('');
  return signature === undefined ? '' : `${letters(signature.params)}>${letters(signature.results)}`;
}

function refused(message: string): CheckedGuest {
  const fix = 'docs/reference/wasm.md says what a guest exports, and examples/wasm has three.';
  return { kind: 'refused', outcome: failedBefore('invalid_module', message, fix) };
}
