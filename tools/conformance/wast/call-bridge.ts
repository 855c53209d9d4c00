import { engine, type FunctionSignature, type ValueTypeName } from '@palyra/wasm';
import type { NumberType, WastValue } from './values.ts';

/** Calls an exported function with exact bits: JavaScript cannot hold a vector, and quiets what some NaNs say. */
export type ExactCall = (args: readonly WastValue[]) => readonly WastValue[];

const CODES: Readonly<Record<Exclude<ValueTypeName, 'reference' | 'exnref'>, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
};
const LOADS: Readonly<Record<NumberType, readonly number[]>> = {
  i32: [0x28, 0],
  i64: [0x29, 0],
  f32: [0x2a, 0],
  f64: [0x2b, 0],
  v128: [0xfd, 0, 0],
};
const STORES: Readonly<Record<NumberType, readonly number[]>> = {
  i32: [0x36, 0],
  i64: [0x37, 0],
  f32: [0x38, 0],
  f64: [0x39, 0],
  v128: [0xfd, 11, 0],
};
const BYTES = { i32: 4, i64: 8, f32: 4, f64: 8, v128: 16 } as const;
const SLOT = 16;
const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

/** Undefined when the signature has types that only the module itself can name. */
export function bridgeTo(target: unknown, signature: FunctionSignature): ExactCall | undefined {
  const { params, results } = signature;
  if ([...params, ...results].some((type) => !(type in CODES))) return undefined;
  const module = new engine.Module(bridgeModule(signature));
  const { exports } = new engine.Instance(module, { t: { f: target } });
  const call = exports['c'] as (...references: unknown[]) => unknown;
  const memory = exports['m'] as { readonly buffer: ArrayBuffer };
  return (args) => {
    const view = new DataView(memory.buffer);
    for (const [index, type] of params.entries()) writeBits(view, index * SLOT, [type, args[index]]);
    const references = args.flatMap((arg) => (arg.kind === 'reference' ? [arg.value] : []));
    const returned = call(...references);
    const count = results.filter((type) => !isNumber(type)).length;
    const kept = count > 1 ? [...(returned as Iterable<unknown>)] : [returned];
    return results.map((type, index): WastValue => {
      if (!isNumber(type)) return { kind: 'reference', value: kept.shift() };
      return { kind: 'bits', type, bits: readBits(view, index * SLOT, BYTES[type]) };
    });
  };
}

function isNumber(type: ValueTypeName): type is NumberType {
  return type in BYTES;
}

function writeBits(view: DataView, at: number, [type, value]: readonly [ValueTypeName, WastValue | undefined]): void {
  if (!isNumber(type)) return;
  const bits = value?.kind === 'bits' ? value.bits : 0n;
  for (let byte = 0; byte < BYTES[type]; byte += 1)
    view.setUint8(at + byte, Number((bits >> BigInt(8 * byte)) & 0xffn));
}

function readBits(view: DataView, at: number, length: number): bigint {
  let bits = 0n;
  for (let byte = length - 1; byte >= 0; byte -= 1) bits = (bits << 8n) | BigInt(view.getUint8(at + byte));
  return bits;
}

/** Numbers come from memory and go back there, references are passed as they are. */
function bridgeModule({ params, results }: FunctionSignature): Uint8Array {
  const code = (type: ValueTypeName): number => CODES[type as keyof typeof CODES];
  const passed = params.filter((type) => !isNumber(type)).map(code);
  const returned = results.filter((type) => !isNumber(type)).map(code);
  const body: number[] = [];
  let reference = 0;
  for (const [index, type] of params.entries()) {
    if (isNumber(type)) body.push(0x41, 0, ...LOADS[type], ...leb(index * SLOT));
    else body.push(0x20, ...leb(reference++));
  }
  body.push(0x10, 0);
  const local = (index: number): number[] => leb(passed.length + index);
  for (let index = results.length - 1; index >= 0; index -= 1) body.push(0x21, ...local(index));
  for (const [index, type] of results.entries()) {
    if (isNumber(type)) body.push(0x41, 0, 0x20, ...local(index), ...STORES[type], ...leb(index * SLOT));
  }
  for (const [index, type] of results.entries()) if (!isNumber(type)) body.push(0x20, ...local(index));
  body.push(0x0b);
  const locals = list(results.map((type) => [1, code(type)]));
  const types = [
    [0x60, ...list(params.map((type) => [code(type)])), ...list(results.map((type) => [code(type)]))],
    [0x60, ...list(passed.map((type) => [type])), ...list(returned.map((type) => [type]))],
  ];
  return Uint8Array.from([
    ...HEADER,
    ...section(1, list(types)),
    ...section(2, list([[1, 0x74, 1, 0x66, 0x00, 0]])),
    ...section(3, list([[1]])),
    ...section(5, list([[0x00, 1 + ((Math.max(params.length, results.length) * SLOT) >> 16)]])),
    ...section(
      7,
      list([
        [1, 0x63, 0x00, 1],
        [1, 0x6d, 0x02, 0],
      ]),
    ),
    ...section(10, list([sized([...locals, ...body])])),
  ]);
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >>> 7)];
}

function list(items: readonly (readonly number[])[]): number[] {
  return [...leb(items.length), ...items.flat()];
}

function sized(bytes: readonly number[]): number[] {
  return [...leb(bytes.length), ...bytes];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...sized(content)];
}
