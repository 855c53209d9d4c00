import { z } from 'zod';
import { section } from './section.ts';

/** What WebAssembly modules may use. */
export interface WasmSettings {
  readonly wasm_runtime: {
    readonly enabled: boolean;
    readonly fuel_budget: number;
    readonly memory_bytes: number;
    readonly table_elements: number;
    readonly module_bytes: number;
    readonly wall_ms: number;
    readonly output_bytes: number;
    readonly host_calls: number;
    readonly instances: number;
    /** Names, with spaces between them. */
    readonly host_functions: string;
  };
}

/** Restated from `@palyra/wasm`, which this package may not import. */
const HOST_FUNCTIONS: readonly string[] = [
  'emit',
  'http_request',
  'kv_delete',
  'kv_get',
  'kv_list',
  'kv_put',
  'now',
  'random',
  'secret_use',
];

/** The names in `host_functions`. */
export function namesIn(text: string): readonly string[] {
  return text.split(/\s+/).filter((name) => name !== '');
}

const count = (most: number, usual: number, description: string) =>
  z.int().min(1).max(most).default(usual).describe(description);

export const wasmSections: { readonly [Name in keyof WasmSettings]: z.ZodType<WasmSettings[Name]> } = {
  wasm_runtime: section(
    'What WebAssembly modules may use; which there are, and what each is granted, is in `modules` in the home.',
    {
      enabled: z.boolean().default(true).describe('Whether modules run at all.'),
      fuel_budget: count(1_000_000_000_000, 1_000_000_000, 'How much fuel a call has; an instruction costs one.'),
      memory_bytes: count(4_294_967_296, 67_108_864, 'How large the memory of a guest becomes, in bytes.'),
      table_elements: count(10_000_000, 100_000, 'How many elements a table of a guest has.'),
      module_bytes: count(67_108_864, 33_554_432, 'How large a module is, in bytes.'),
      wall_ms: count(600_000, 5_000, 'How long a call takes, in milliseconds, starting and compiling included.'),
      output_bytes: count(16_777_216, 1_048_576, 'How much a call puts out, in bytes.'),
      host_calls: count(1_000_000, 1_000, 'How many host functions a call calls.'),
      instances: count(64, 4, 'How many guests run at once, each in a process of its own.'),
      host_functions: z
        .string()
        .refine((text) => namesIn(text).every((name) => HOST_FUNCTIONS.includes(name)))
        .default('emit http_request kv_delete kv_get kv_list kv_put now random secret_use')
        .meta({ expects: `names of ${HOST_FUNCTIONS.join(', ')}, with spaces between them` })
        .describe('Host functions that modules may be granted.'),
    },
  ),
};
