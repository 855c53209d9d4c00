import { headOf, type ListNode, type Node, wordOf } from './syntax.ts';

export type Assembled =
  | { readonly kind: 'assembled'; readonly bytes: Uint8Array }
  /** The text itself is wrong, or neither assembler can read it. */
  | { readonly kind: 'not_assembled'; readonly text: string; readonly why: string };

/** What a `(module …)` form holds, without its name and the word `definition`. */
export interface ModuleForm {
  readonly name: string | undefined;
  readonly isDefinition: boolean;
  readonly form: ListNode;
  readonly rest: readonly Node[];
}

export interface Assembler {
  /** `thorough` asks the second assembler too: not for texts that are wrong on purpose. */
  assemble(form: ModuleForm, source: string, how: 'thorough' | 'quick'): Promise<Assembled>;
}

interface Wabt {
  parseWat(
    name: string,
    text: Uint8Array,
    features: Readonly<Record<string, boolean>>,
  ): { toBinary(options: object): { readonly buffer: Uint8Array }; destroy(): void };
}

interface Binaryen {
  readonly Features: { readonly All: number };
  parseText(text: string): { setFeatures(features: number): void; emitBinary(): Uint8Array; dispose(): void };
}

/** Everything that the assembler knows: what we refuse is refused by the instrumenter, not for want of an assembler. */
const FEATURES = Object.fromEntries(
  [
    'exceptions',
    'mutable_globals',
    'sat_float_to_int',
    'sign_extension',
    'simd',
    'threads',
    'function_references',
    'multi_value',
    'tail_call',
    'bulk_memory',
    'reference_types',
    'annotations',
    'gc',
    'memory64',
    'multi_memory',
    'extended_const',
    'relaxed_simd',
  ].map((name) => [name, true]),
);

export function readModuleForm(form: ListNode): ModuleForm {
  const rest = form.items.slice(1);
  const isDefinition = wordOf(rest[0]) === 'definition';
  if (isDefinition) rest.shift();
  const name = wordOf(rest[0])?.startsWith('$') === true ? wordOf(rest.shift()) : undefined;
  return { name, isDefinition, form, rest };
}

/** wabt first, and binaryen, which is slow to load, for what wabt cannot read. */
export async function createAssembler(): Promise<Assembler> {
  const { default: startWabt } = (await import('wabt')) as unknown as { default: () => Promise<Wabt> };
  const wabt = await startWabt();
  let binaryen: Binaryen | undefined;
  return {
    async assemble({ rest, form, isDefinition }, source, how) {
      const kind = wordOf(rest[0]);
      if (kind === 'binary') return { kind: 'assembled', bytes: joined(rest.slice(1)) };
      const text = kind === 'quote' ? quoted(rest.slice(1)) : textOf(form, source, isDefinition);
      const first = attempt(text, () => withWabt(wabt, text));
      if (first.kind === 'assembled' || how === 'quick') return first;
      binaryen ??= await loadBinaryen();
      const loaded = binaryen;
      const second = attempt(text, () => withBinaryen(loaded, text));
      return second.kind === 'assembled' ? second : first;
    },
  };
}

/** Ten megabytes of it, so only when it is needed. */
async function loadBinaryen(): Promise<Binaryen> {
  const { default: loaded } = (await import('binaryen')) as unknown as { default: Binaryen };
  return loaded;
}

function attempt(text: string, assemble: () => Uint8Array): Assembled {
  try {
    return { kind: 'assembled', bytes: assemble() };
  } catch (error) {
    return { kind: 'not_assembled', text, why: error instanceof Error ? error.message : String(error) };
  }
}

function withWabt(wabt: Wabt, text: string): Uint8Array {
  // Its bytes: of a string wabt keeps the low byte of every character.
  const module = wabt.parseWat('script.wat', new TextEncoder().encode(text), FEATURES);
  try {
    return new Uint8Array(module.toBinary({}).buffer);
  } finally {
    module.destroy();
  }
}

function withBinaryen(binaryen: Binaryen, text: string): Uint8Array {
  const { error } = console;
  // binaryen tells its complaints to everybody.
  console.error = () => {};
  try {
    const module = binaryen.parseText(text);
    module.setFeatures(binaryen.Features.All);
    const bytes = new Uint8Array(module.emitBinary());
    module.dispose();
    return bytes;
  } finally {
    console.error = error;
  }
}

function textOf(form: ListNode, source: string, isDefinition: boolean): string {
  if (headOf(form) !== 'module') return `(module ${source})`;
  const text = source.slice(form.start, form.end);
  return isDefinition ? text.replace(/\bdefinition\b/, '') : text;
}

function quoted(parts: readonly Node[]): string {
  const text = new TextDecoder().decode(joined(parts));
  // The quoted text may be the fields alone.
  return /^\s*(?:;;[^\n]*\n\s*|\(;.*?;\)\s*)*\(\s*module\b/s.test(text) ? text : `(module ${text}\n)`;
}

function joined(parts: readonly Node[]): Uint8Array {
  const all = parts.flatMap((part) => (part.kind === 'string' ? [part.bytes] : []));
  const bytes = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of all) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
