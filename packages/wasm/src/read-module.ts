import { type Cursor, cursorOn, readByte, readName, readU32, skipNumber } from './cursor.ts';
import type { ModuleLimits } from './limits.ts';
import { RESERVED_PREFIX } from './meter-names.ts';
import { type FunctionType, type ModuleShape, type Resizable, SECTION, type Section } from './module-shape.ts';
import { readElements } from './read-elements.ts';
import { readTypes } from './read-signatures.ts';
import { checkLimits, readLimits } from './resizable-limits.ts';
import { skipConstant } from './skip-constant.ts';
import { splitSections } from './split-sections.ts';
import { readValueType } from './value-kinds.ts';
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
  globals: number;
}

const IMPORT = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const TABLE_WITH_INITIAL_VALUE = 0x40;

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
    globals: 0,
  };
  readImports(reading);
  const importedFunctions = reading.functionTypes.length;
  readFunctions(reading);
  readTables(reading);
  readMemories(reading);
  readTags(reading);
  readGlobals(reading);
  readExports(reading);
  readElements(contentOf(bytes, sections.get(SECTION.element)), limits);
  countOf(reading, SECTION.data, { what: 'Data segments', most: limits.dataSegments });
  const { functionTypes, globals, resizables, tagTypes } = reading;
  const start = readStart(reading);
  return { bytes, sections, types, importedFunctions, functionTypes, globals, resizables, tagTypes, start };
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
      readValueType(cursor);
      addResizable(reading, { kind: 'table', imported: true, limits: readLimits(cursor, 'table') });
      return;
    case IMPORT.memory:
      addResizable(reading, { kind: 'memory', imported: true, limits: readLimits(cursor, 'memory') });
      return;
    case IMPORT.global:
      readValueType(cursor);
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
    readValueType(cursor);
    addResizable(reading, { kind: 'table', imported: false, limits: readLimits(cursor, 'table') });
    if (hasInitialValue) skipConstant(cursor);
  }
}

function readMemories(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.memory, { what: 'Memories', most: 100_000 });
  for (let index = 0; index < count; index += 1) {
    addResizable(reading, { kind: 'memory', imported: false, limits: readLimits(cursor, 'memory') });
  }
}

function readTags(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.tag, { what: 'Tags', most: reading.limits.tags });
  for (let index = 0; index < count; index += 1) readTag(cursor, reading);
}

function readTag(cursor: Cursor, { tagTypes, types, limits }: Reading): void {
  if (readByte(cursor) !== 0) throw malformed('A tag is of a kind that means nothing.');
  const type = types[readU32(cursor)];
  if (type === undefined) throw malformed('A tag has a type that is not there.');
  tagTypes.push(type.params);
  if (tagTypes.length > limits.tags) throw tooLarge('Tags', tagTypes.length, limits.tags);
}

function readGlobals(reading: Reading): void {
  const most = reading.limits.globals;
  const { cursor, count } = countOf(reading, SECTION.global, { what: 'Globals', most });
  for (let index = 0; index < count; index += 1) {
    readValueType(cursor);
    readMutability(cursor);
    skipConstant(cursor);
  }
  reading.globals += count;
}

function readMutability(cursor: Cursor): void {
  if (readByte(cursor) > 1) throw unsupported('threads (a shared global)');
}

function readExports(reading: Reading): void {
  const { cursor, count } = countOf(reading, SECTION.export, { what: 'Exports', most: reading.limits.exports });
  for (let index = 0; index < count; index += 1) {
    refuseReserved(readName(cursor));
    readByte(cursor);
    skipNumber(cursor, 5);
  }
}

function readStart({ sections, bytes }: Reading): number | undefined {
  const section = sections.get(SECTION.start);
  return section === undefined ? undefined : readU32(contentOf(bytes, section));
}

function addFunction({ functionTypes, types, limits }: Reading, type: number): void {
  if (type >= types.length) throw malformed('A function has a type that is not there.');
  functionTypes.push(type);
  if (functionTypes.length > limits.functions) throw tooLarge('Functions', functionTypes.length, limits.functions);
}

function addResizable({ resizables, limits }: Reading, added: Resizable): void {
  resizables.push(added);
  const same = resizables.filter(({ kind }) => kind === added.kind).length;
  if (added.kind === 'memory') {
    if (same > 1) throw unsupported('several memories');
    checkLimits(added.limits, 'Pages of memory at the start', limits.memoryPages);
    return;
  }
  if (same > limits.tables) throw tooLarge('Tables', same, limits.tables);
  checkLimits(added.limits, 'Elements of a table at the start', limits.tableElements);
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
