import { type Cursor, cursorOn, readByte, readName, readU32 } from './cursor.ts';
import { RESERVED_PREFIX } from './host/meter-names.ts';
import type { ModuleLimits } from './limits.ts';
import { type FunctionType, type ModuleShape, type Resizable, SECTION, type Section } from './module-shape.ts';
import { hostTypesOf } from './reach-host.ts';
import { readConstant } from './read-constant.ts';
import { readElements } from './read-elements.ts';
import { readTypes } from './read-signatures.ts';
import { checkLimits, readLimits } from './resizable-limits.ts';
import { splitSections } from './split-sections.ts';
import { readIsException, readValueType } from './value-kinds.ts';
import { malformed, tooLarge, unsupported, WasmError } from './wasm-error.ts';

/** What is gathered while the sections are read one after another. */
interface Reading {
  readonly bytes: Uint8Array;
  readonly limits: ModuleLimits;
  readonly sections: ReadonlyMap<number, Section>;
  readonly types: readonly FunctionType[];
  readonly functionTypes: number[];
  readonly resizables: Resizable[];
  readonly tagTypes: number[];
  readonly entries: Set<number>;
  /** Functions that the module may refer to: what is declared nowhere here cannot be referred to in code either. */
  readonly referred: Set<number>;
  globals: number;
  readonly settableGlobals: number[];
  hasHiddenState: boolean;
  hasVectors: boolean;
}

const VECTOR_SLOTS = 2;
const IMPORT = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const TABLE_WITH_INITIAL_VALUE = 0x40;
const READABLE_TYPES = new Set([0x7f, 0x7e, 0x7d, 0x7c, 0x70, 0x6f]);

/** Reads everything but the code. Throws `WasmError` for what is too large, not supported or not readable. */
export function readModule(bytes: Uint8Array, limits: ModuleLimits): ModuleShape {
  const sections = splitSections(bytes, limits);
  const types = readTypes(contentOf(bytes, sections.get(SECTION.type)), limits);
  const reading: Reading = {
    bytes,
    limits,
    sections,
    types,
    functionTypes: [],
    resizables: [],
    tagTypes: [],
    entries: new Set(),
    referred: new Set(),
    globals: 0,
    settableGlobals: [],
    hasHiddenState: false,
    hasVectors: types.some(
      ({ params, results, paramSlots, resultSlots }) => paramSlots + resultSlots > params + results,
    ),
  };
  readImports(reading);
  const importedFunctions = reading.functionTypes.length;
  readFunctions(reading);
  readTables(reading);
  readMemories(reading);
  readTags(reading);
  readGlobals(reading);
  readExports(reading);
  readElements(contentOf(bytes, sections.get(SECTION.element)), limits, reading.referred);
  countOf(reading, SECTION.data, { what: 'Data segments', most: limits.dataSegments });
  const start = readStart(reading);
  const { functionTypes, globals, resizables, tagTypes, hasVectors, entries, referred } = reading;
  const { settableGlobals, hasHiddenState } = reading;
  const hostTypes = hostTypesOf(
    types,
    [...referred].filter((index) => index < importedFunctions).map((index) => functionTypes[index] as number),
  );
  const known = { bytes, sections, types, importedFunctions, functionTypes, globals, resizables, tagTypes };
  return { ...known, settableGlobals, hasHiddenState, start, hasVectors, entries, hostTypes };
}

function readImports(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.import, { what: 'Imports', most: reading.limits.imports });
  for (let index = 0; index < count; index += 1) {
    refuseReserved(readName(cursor));
    refuseReserved(readName(cursor));
    readImport(cursor, reading);
  }
}

function readImport(cursor: Cursor, reading: Reading): void {
  const kind = readByte(cursor);
  switch (kind) {
    case IMPORT.function:
      addFunction(reading, readU32(cursor));
      return;
    case IMPORT.table:
      addTable(reading, cursor, 'imported');
      return;
    case IMPORT.memory:
      addMemory(reading, cursor, 'imported');
      return;
    case IMPORT.global:
      if (readValueType(cursor) === VECTOR_SLOTS) reading.hasVectors = true;
      readMutability(cursor);
      reading.globals += 1;
      return;
    case IMPORT.tag:
      readTag(cursor, reading);
      return;
    default:
      throw malformed(`An import is of kind ${kind}.`);
  }
}

function readFunctions(reading: Reading): void {
  const most = reading.limits.functions;
  const { cursor, count } = countOf(reading, SECTION.function, { what: 'Functions', most });
  for (let index = 0; index < count; index += 1) addFunction(reading, readU32(cursor));
}

function readTables(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.table, { what: 'Tables', most: reading.limits.tables });
  for (let index = 0; index < count; index += 1) {
    const hasInitialValue = cursor.bytes[cursor.at] === TABLE_WITH_INITIAL_VALUE && cursor.at < cursor.end;
    if (hasInitialValue) {
      cursor.at += 1;
      if (readByte(cursor) !== 0) throw malformed('A table is written in a way that means nothing.');
    }
    addTable(reading, cursor, 'own');
    if (hasInitialValue) readConstant(cursor, reading.referred);
  }
}

function readMemories(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.memory, { what: 'Memories', most: 100_000 });
  for (let index = 0; index < count; index += 1) addMemory(reading, cursor, 'own');
}

function readTags(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.tag, { what: 'Tags', most: reading.limits.tags });
  for (let index = 0; index < count; index += 1) readTag(cursor, reading);
}

function readTag(cursor: Cursor, { tagTypes, types, limits }: Reading): void {
  if (readByte(cursor) !== 0) throw malformed('A tag is of a kind that means nothing.');
  const type = types[readU32(cursor)];
  if (type === undefined) throw malformed('A tag has a type that is not there.');
  // SECURITY: T-26 — an exception with many values is a large object on V8's heap, where no limit of memory counts it.
  if (type.params > limits.tagValues) throw tooLarge('Values of an exception', type.params, limits.tagValues);
  tagTypes.push(type.params);
  if (tagTypes.length > limits.tags) throw tooLarge('Tags', tagTypes.length, limits.tags);
}

function readGlobals(reading: Reading): void {
  const most = reading.limits.globals;
  const { cursor, count } = countOf(reading, SECTION.global, { what: 'Globals', most });
  for (let index = 0; index < count; index += 1) {
    const isSettable = isReadableType(cursor);
    if (readValueType(cursor) === VECTOR_SLOTS) reading.hasVectors = true;
    if (readMutability(cursor)) {
      if (isSettable) reading.settableGlobals.push(reading.globals + index);
      else reading.hasHiddenState = true;
    }
    readConstant(cursor, reading.referred);
  }
  reading.globals += count;
}

/** Whether it can change. */
function readMutability(cursor: Cursor): boolean {
  const mutability = readByte(cursor);
  if (mutability > 1) throw unsupported('threads (a shared global)');
  return mutability === 1;
}

/** Numbers, funcref and externref: what JavaScript can read and set. Looks at the next type without moving over it. */
function isReadableType({ bytes, at }: Cursor): boolean {
  return READABLE_TYPES.has(bytes[at] as number);
}

function readExports(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.export, { what: 'Exports', most: reading.limits.exports });
  for (let index = 0; index < count; index += 1) {
    refuseReserved(readName(cursor));
    const kind = readByte(cursor);
    const exported = readU32(cursor);
    if (kind !== IMPORT.function) continue;
    reading.entries.add(exported);
    reading.referred.add(exported);
  }
}

function readStart({ sections, bytes, entries }: Reading): number | undefined {
  const section = sections.get(SECTION.start);
  if (section === undefined) return undefined;
  const start = readU32(contentOf(bytes, section));
  entries.add(start);
  return start;
}

function addFunction({ functionTypes, types, limits }: Reading, type: number): void {
  if (type >= types.length) throw malformed('A function has a type that is not there.');
  functionTypes.push(type);
  if (functionTypes.length > limits.functions) throw tooLarge('Functions', functionTypes.length, limits.functions);
}

type Origin = 'imported' | 'own';

function addTable(reading: Reading, cursor: Cursor, origin: Origin): void {
  const { resizables, limits } = reading;
  if (!isReadableType(cursor)) reading.hasHiddenState = true;
  // SECURITY: T-26 — an exception that is kept lives on V8's heap, as long as the table that holds it.
  const most = readIsException(cursor)
    ? Math.min(limits.exceptionElements, limits.tableElements)
    : limits.tableElements;
  const size = readLimits(cursor, 'table');
  resizables.push({ kind: 'table', imported: origin === 'imported', limits: size, most });
  const tables = resizables.filter(({ kind }) => kind === 'table').length;
  if (tables > limits.tables) throw tooLarge('Tables', tables, limits.tables);
  checkLimits(size, 'Elements of a table at the start', most);
}

function addMemory({ resizables, limits }: Reading, cursor: Cursor, origin: Origin): void {
  const most = limits.memoryPages;
  const size = readLimits(cursor, 'memory');
  if (resizables.some(({ kind }) => kind === 'memory')) throw unsupported('several memories');
  resizables.push({ kind: 'memory', imported: origin === 'imported', limits: size, most });
  checkLimits(size, 'Pages of memory at the start', most);
}

function refuseReserved(name: string | undefined): void {
  // SECURITY: T-26 — a guest that exports such a name would be read instead of its counter, and one that imports it would be given one.
  if (name === undefined || !name.startsWith(RESERVED_PREFIX)) return;
  throw new WasmError('wasm.reserved_name', 'The module imports or exports a name of the meter.', {
    fix: `Name it so that it does not begin with "${RESERVED_PREFIX}".`,
  });
}

interface Counted {
  readonly what: string;
  readonly most: number;
}

/** The number that a section begins with, compared with its limit before anything is read or set aside for it. */
function countOf({ bytes, sections }: Reading, id: number, { what, most }: Counted) {
  const cursor = contentOf(bytes, sections.get(id));
  const count = cursor.end === cursor.at ? 0 : readU32(cursor);
  if (count > most) throw tooLarge(what, count, most);
  return { cursor, count };
}

function contentOf(bytes: Uint8Array, section: Section | undefined): Cursor {
  return cursorOn(bytes, section?.start ?? 0, section?.end ?? 0);
}
