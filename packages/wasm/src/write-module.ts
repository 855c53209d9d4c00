import {
  type ByteSink,
  createSink,
  putByte,
  putBytes,
  putName,
  putRange,
  putSized,
  putU32,
  writtenBytes,
} from './byte-sink.ts';
import { cursorOn, readU32 } from './cursor.ts';
import { type Exported, exportedState } from './exported-state.ts';
import { FUEL_EXPORT, GROWTH_EXPORT, STACK_EXPORT, START_EXPORT } from './host/meter-names.ts';
import type { MeterPlan } from './meter-plan.ts';
import { type ModuleShape, type Resizable, SECTION } from './module-shape.ts';
import { putLimits } from './resizable-limits.ts';
import { tooLarge } from './wasm-error.ts';
import { writeBody } from './write-body.ts';

/** The order that the specification wants. Custom sections are left out: those that name places in the code would lie. */
const ORDER = [
  SECTION.type,
  SECTION.import,
  SECTION.function,
  SECTION.table,
  SECTION.memory,
  SECTION.tag,
  SECTION.global,
  SECTION.export,
  SECTION.element,
  SECTION.dataCount,
  SECTION.code,
  SECTION.data,
] as const;

/** V8 takes no larger function. */
const MOST_METERED_BODY = 7_654_321;
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
/** `(mut i64)` that begins at 0: whoever forgets to give fuel gets a trap. */
const COUNTER = [0x7e, 0x01, 0x42, 0x00, 0x0b];
/** `(mut i32)` that begins at 0: no growth was refused yet. */
const GROWTH = [0x7f, 0x01, 0x41, 0x00, 0x0b];
const FUNCTION_KIND = 0;
const GLOBAL_KIND = 3;
const FUNCTION_TYPE = 0x60;
const EMPTY = 0x40;

/** What is written, with the types that the meter's own blocks need. */
interface Writing {
  readonly sink: ByteSink;
  readonly shape: ModuleShape;
  readonly resultBlocks: ResultBlocks;
}

/** The metered module. `shape` and `plan` must be of a module that V8 has found valid. */
export function writeModule(shape: ModuleShape, plan: MeterPlan): Uint8Array {
  const sink = createSink(shape.bytes.length * 2);
  const resultBlocks = collectResultBlocks(shape, plan);
  const writing: Writing = { sink, shape, resultBlocks };
  putBytes(sink, HEADER);
  for (const id of ORDER) {
    switch (id) {
      case SECTION.type:
        writeTypes(writing);
        break;
      case SECTION.import:
      case SECTION.table:
      case SECTION.memory:
        writeResizables(writing, id);
        break;
      case SECTION.global:
        writeGlobals(writing);
        break;
      case SECTION.export:
        writeExports(writing, plan);
        break;
      case SECTION.code:
        writeCode(writing, plan);
        break;
      case SECTION.function:
      case SECTION.tag:
      case SECTION.element:
      case SECTION.dataCount:
      case SECTION.data:
        copySection(writing, id);
        break;
    }
  }
  return writtenBytes(sink);
}

interface ResultBlocks {
  /** How a block is written that gives what a function of this type gives. */
  readonly ofType: (type: number) => ArrayLike<number>;
  /** The types behind those of the module, each as it is written. */
  readonly added: readonly Uint8Array[];
}

/** A block that gives several values needs a type without parameters, which the module may not have. */
function collectResultBlocks({ types }: ModuleShape, { bodies }: MeterPlan): ResultBlocks {
  const added: Uint8Array[] = [];
  const known = new Map<string, number>();
  const blocks = new Map<number, ArrayLike<number>>();
  for (const { type: index } of bodies) {
    const type = types[index];
    if (type === undefined || blocks.has(index)) continue;
    if (type.results <= 1) {
      blocks.set(index, type.results === 0 ? [EMPTY] : type.resultBytes);
      continue;
    }
    const key = type.resultBytes.join();
    const typeIndex = known.get(key) ?? types.length + added.length;
    if (!known.has(key)) added.push(withoutParameters(type.results, type.resultBytes));
    known.set(key, typeIndex);
    blocks.set(index, signed(typeIndex));
  }
  return { ofType: (type) => blocks.get(type) ?? [EMPTY], added };
}

function withoutParameters(results: number, resultBytes: Uint8Array): Uint8Array {
  const sink = createSink(resultBytes.length + 8);
  putBytes(sink, [FUNCTION_TYPE, 0]);
  putU32(sink, results);
  putBytes(sink, resultBytes);
  return writtenBytes(sink);
}

/** The index of a type where a block wants one: signed, so that a plain type of value is told from it. */
function signed(index: number): ArrayLike<number> {
  const bytes: number[] = [];
  let rest = index;
  while (rest > 0x3f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>= 7;
  }
  return [...bytes, rest];
}

function writeTypes({ sink, shape, resultBlocks }: Writing): void {
  const { count, start, end } = listIn(shape, SECTION.type);
  if (count + resultBlocks.added.length === 0) return;
  putSection(sink, SECTION.type, () => {
    putU32(sink, count + resultBlocks.added.length);
    putRange(sink, shape.bytes, start, end);
    for (const type of resultBlocks.added) putBytes(sink, type);
  });
}

function writeResizables({ sink, shape }: Writing, id: number): void {
  const section = shape.sections.get(id);
  if (section === undefined) return;
  const { bytes } = shape;
  putSection(sink, id, () => {
    let at = section.start;
    for (const { most, limits: size } of shape.resizables.filter(isIn(section))) {
      putRange(sink, bytes, at, size.start);
      putLimits(sink, size, most);
      at = size.end;
    }
    putRange(sink, bytes, at, section.end);
  });
}

function isIn({ start, end }: { readonly start: number; readonly end: number }) {
  return ({ limits }: Resizable): boolean => limits.start >= start && limits.start < end;
}

/** SECURITY: T-26 — the counters come behind all globals of the guest, whose every index V8 has found to be one of its own. */
function writeGlobals({ sink, shape }: Writing): void {
  const { count, start, end } = listIn(shape, SECTION.global);
  putSection(sink, SECTION.global, () => {
    putU32(sink, count + 3);
    putRange(sink, shape.bytes, start, end);
    putBytes(sink, COUNTER);
    putBytes(sink, COUNTER);
    putBytes(sink, GROWTH);
  });
}

function writeExports({ sink, shape }: Writing, plan: MeterPlan): void {
  const { count, start, end } = listIn(shape, SECTION.export);
  const added: Exported[] = [
    { name: FUEL_EXPORT, kind: GLOBAL_KIND, index: shape.globals },
    { name: STACK_EXPORT, kind: GLOBAL_KIND, index: shape.globals + 1 },
    { name: GROWTH_EXPORT, kind: GLOBAL_KIND, index: shape.globals + 2 },
    // SECURITY: T-26 — there is no start section any more: V8 runs it before the host can give fuel, or stop it.
    ...(shape.start === undefined ? [] : [{ name: START_EXPORT, kind: FUNCTION_KIND, index: shape.start }]),
    ...exportedState(shape, plan),
  ];
  putSection(sink, SECTION.export, () => {
    putU32(sink, count + added.length);
    putRange(sink, shape.bytes, start, end);
    for (const each of added) putExport(sink, each);
  });
}

function putExport(sink: ByteSink, { name, kind, index }: Exported): void {
  putName(sink, name);
  putByte(sink, kind);
  putU32(sink, index);
}

function writeCode({ sink, shape, resultBlocks }: Writing, { bodies, places }: MeterPlan): void {
  if (!shape.sections.has(SECTION.code)) return;
  const indexes = {
    fuelGlobal: shape.globals,
    stackGlobal: shape.globals + 1,
    growthGlobal: shape.globals + 2,
    resultBlock: resultBlocks.ofType,
  };
  const source = { bytes: shape.bytes, places };
  putSection(sink, SECTION.code, () => {
    putU32(sink, bodies.length);
    for (const body of bodies) {
      const before = sink.length;
      putSized(sink, () => writeBody(sink, source, { body, indexes }));
      const size = sink.length - before;
      if (size > MOST_METERED_BODY) throw tooLarge('Bytes of a body once it is metered', size, MOST_METERED_BODY);
    }
  });
}

function copySection({ sink, shape }: Writing, id: number): void {
  const section = shape.sections.get(id);
  if (section === undefined) return;
  putSection(sink, id, () => putRange(sink, shape.bytes, section.start, section.end));
}

function putSection(sink: ByteSink, id: number, write: () => void): void {
  putByte(sink, id);
  putSized(sink, write);
}

/** A section that is a list: how many there are, and the bytes behind that number. */
function listIn({ bytes, sections }: ModuleShape, id: number) {
  const section = sections.get(id);
  if (section === undefined) return { count: 0, start: 0, end: 0 };
  const cursor = cursorOn(bytes, section.start, section.end);
  return { count: readU32(cursor), start: cursor.at, end: section.end };
}
