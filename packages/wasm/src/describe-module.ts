import { type Cursor, cursorOn, readByte, readName, readU32, skipBytes } from './cursor.ts';
import { completeLimits, type ModuleLimits } from './limits.ts';
import { SECTION, type Section } from './module-shape.ts';
import { readLimits } from './resizable-limits.ts';
import { splitSections } from './split-sections.ts';
import { readHeapType } from './value-kinds.ts';
import { malformed } from './wasm-error.ts';

export type ValueTypeName = 'i32' | 'i64' | 'f32' | 'f64' | 'v128' | 'funcref' | 'externref' | 'exnref' | 'reference';

export interface FunctionSignature {
  readonly params: readonly ValueTypeName[];
  readonly results: readonly ValueTypeName[];
}

export type PortKind = 'function' | 'table' | 'memory' | 'global' | 'tag';

export interface ModuleImport {
  readonly module: string;
  readonly name: string;
  readonly kind: PortKind;
  /** Of functions only. */
  readonly signature: FunctionSignature | undefined;
}

export interface ModuleExport {
  readonly name: string;
  readonly kind: PortKind;
  /** Of functions only. */
  readonly signature: FunctionSignature | undefined;
}

/** What a module asks for and offers. V8 names these too, but not the types. */
export interface ModuleInterface {
  readonly imports: readonly ModuleImport[];
  readonly exports: readonly ModuleExport[];
}

const KINDS: readonly PortKind[] = ['function', 'table', 'memory', 'global', 'tag'];
const FUNCTION_TYPE = 0x60;
const VALUE_TYPES: ReadonlyMap<number, ValueTypeName> = new Map([
  [0x7f, 'i32'],
  [0x7e, 'i64'],
  [0x7d, 'f32'],
  [0x7c, 'f64'],
  [0x7b, 'v128'],
  [0x70, 'funcref'],
  [0x6f, 'externref'],
  [0x69, 'exnref'],
]);

/** nofunc, noextern, noexn. */
const NULL_TYPES = new Set([0x73, 0x72, 0x74]);

/** Of a module that `instrument` takes or gave. Throws `WasmError` for anything it cannot follow. */
export function describeModule(bytes: Uint8Array, changed: Partial<ModuleLimits> = {}): ModuleInterface {
  const sections = splitSections(bytes, completeLimits(changed));
  const section = (id: number): Cursor => contentOf(bytes, sections.get(id));
  const types = listOf(section(SECTION.type), readSignature);
  const imports = listOf(section(SECTION.import), (cursor) => readImport(cursor, types));
  const functions = [
    ...imports.filter(({ kind }) => kind === 'function').map(({ signature }) => signature),
    ...listOf(section(SECTION.function), (cursor) => types[readU32(cursor)]),
  ];
  const exports = listOf(section(SECTION.export), (cursor): ModuleExport => {
    const name = nameIn(cursor);
    const kind = readKind(cursor);
    const index = readU32(cursor);
    return { name, kind, signature: kind === 'function' ? functions[index] : undefined };
  });
  return { imports, exports };
}

function readSignature(cursor: Cursor): FunctionSignature {
  if (readByte(cursor) !== FUNCTION_TYPE) throw malformed('A type is not that of a function.');
  return { params: listOf(cursor, readTypeName), results: listOf(cursor, readTypeName) };
}

function readTypeName(cursor: Cursor): ValueTypeName {
  const code = readByte(cursor);
  const name = VALUE_TYPES.get(code);
  if (name !== undefined) return name;
  if (NULL_TYPES.has(code)) return 'reference';
  if (code !== 0x63 && code !== 0x64) throw malformed(`There is no type 0x${code.toString(16)}.`);
  readHeapType(cursor);
  return 'reference';
}

function readImport(cursor: Cursor, types: readonly FunctionSignature[]): ModuleImport {
  const [module, name] = [nameIn(cursor), nameIn(cursor)];
  const kind = readKind(cursor);
  return { module, name, kind, signature: skipImported(cursor, kind, types) };
}

function skipImported(cursor: Cursor, kind: PortKind, types: readonly FunctionSignature[]) {
  switch (kind) {
    case 'function':
      return types[readU32(cursor)];
    case 'table':
      readTypeName(cursor);
      readLimits(cursor, 'table');
      return undefined;
    case 'memory':
      readLimits(cursor, 'memory');
      return undefined;
    case 'global':
      readTypeName(cursor);
      skipBytes(cursor, 1);
      return undefined;
    case 'tag':
      skipBytes(cursor, 1);
      readU32(cursor);
      return undefined;
  }
}

function readKind(cursor: Cursor): PortKind {
  const kind = KINDS[readByte(cursor)];
  if (kind === undefined) throw malformed('An import or export is of a kind that means nothing.');
  return kind;
}

function nameIn(cursor: Cursor): string {
  const name = readName(cursor);
  if (name === undefined) throw malformed('A name is not UTF-8.');
  return name;
}

function listOf<Item>(cursor: Cursor, read: (cursor: Cursor) => Item): Item[] {
  const items: Item[] = [];
  if (cursor.at === cursor.end) return items;
  const count = readU32(cursor);
  // Each takes a byte at least, so a count that lies ends at the end of the bytes.
  for (let index = 0; index < count; index += 1) items.push(read(cursor));
  return items;
}

function contentOf(bytes: Uint8Array, section: Section | undefined): Cursor {
  return cursorOn(bytes, section?.start ?? 0, section?.end ?? 0);
}
