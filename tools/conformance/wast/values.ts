import { floatBits, integerBits } from './number-literals.ts';
import { headOf, type ListNode, type Node, wordOf } from './syntax.ts';

/** A value that goes into a call or comes out of it. Numbers and vectors are their bits, which JavaScript would change on the way. */
export type WastValue =
  | { readonly kind: 'bits'; readonly type: NumberType; readonly bits: bigint }
  | { readonly kind: 'reference'; readonly value: unknown };

export type NumberType = 'i32' | 'i64' | 'f32' | 'f64' | 'v128';

/** What a script expects of one result. */
export type Pattern = (value: WastValue) => boolean;

const WIDTH: Readonly<Record<NumberType, number>> = { i32: 32, i64: 64, f32: 32, f64: 64, v128: 128 };

interface Shape {
  readonly lanes: number;
  readonly type: 'int' | 'f32' | 'f64';
}

const SHAPES: Readonly<Record<string, Shape>> = {
  i8x16: { lanes: 16, type: 'int' },
  i16x8: { lanes: 8, type: 'int' },
  i32x4: { lanes: 4, type: 'int' },
  i64x2: { lanes: 2, type: 'int' },
  f32x4: { lanes: 4, type: 'f32' },
  f64x2: { lanes: 2, type: 'f64' },
};

/** One object per number, the same in both worlds, so that they can be told apart and compared. */
const hosts = new Map<string, object>();

/** A constant argument; undefined when it is of a kind that we do not know. */
export function parseValue(node: Node): WastValue | undefined {
  if (node.kind !== 'list') return undefined;
  const head = headOf(node);
  const [, first] = node.items;
  if (head === 'ref.null') return { kind: 'reference', value: null };
  if (head === 'ref.extern' || head === 'ref.host') return { kind: 'reference', value: hostOf(wordOf(first) ?? '') };
  const type = numberType(head);
  if (type === undefined) return undefined;
  const bits = type === 'v128' ? vectorBits(node) : scalarBits(type, wordOf(first) ?? '');
  return bits === undefined ? undefined : { kind: 'bits', type, bits };
}

/** What a result must be like; undefined when it is of a kind that we do not know. */
export function parsePattern(node: Node): Pattern | undefined {
  if (node.kind !== 'list') return undefined;
  const head = headOf(node);
  const [, first] = node.items;
  if (head === 'either') return anyOf(node.items.slice(1).map(parsePattern));
  if (head === 'v128.const') return vectorPattern(node);
  if (head.startsWith('ref.')) return referencePattern(head, wordOf(first));
  const type = numberType(head);
  if (type === undefined) return undefined;
  const lane = lanePattern(wordOf(first) ?? '', type === 'f32' || type === 'f64' ? type : 'int', WIDTH[type]);
  return (value) => value.kind === 'bits' && value.type === type && lane(value.bits);
}

function anyOf(patterns: readonly (Pattern | undefined)[]): Pattern {
  return (value) => patterns.some((pattern) => pattern?.(value) === true);
}

function numberType(head: string): NumberType | undefined {
  const type = head.endsWith('.const') ? head.slice(0, -'.const'.length) : '';
  return type in WIDTH ? (type as NumberType) : undefined;
}

function scalarBits(type: Exclude<NumberType, 'v128'>, text: string): bigint {
  if (type === 'i32' || type === 'i64') return integerBits(text, WIDTH[type]);
  return floatBits(text, type === 'f32' ? 32 : 64);
}

function vectorBits({ items }: ListNode): bigint | undefined {
  const shape = SHAPES[wordOf(items[1]) ?? ''];
  if (shape === undefined) return undefined;
  const width = 128 / shape.lanes;
  return items.slice(2).reduce((bits, lane, index) => {
    const text = wordOf(lane) ?? '0';
    const own = shape.type === 'int' ? integerBits(text, width) : floatBits(text, width as 32 | 64);
    return bits | (own << BigInt(index * width));
  }, 0n);
}

function vectorPattern({ items }: ListNode): Pattern | undefined {
  const shape = SHAPES[wordOf(items[1]) ?? ''];
  if (shape === undefined) return undefined;
  const width = 128 / shape.lanes;
  const lanes = items.slice(2).map((lane) => lanePattern(wordOf(lane) ?? '', shape.type, width));
  return (value) => {
    if (value.kind !== 'bits' || value.type !== 'v128') return false;
    return lanes.every((lane, index) => lane(BigInt.asUintN(width, value.bits >> BigInt(index * width))));
  };
}

function lanePattern(text: string, type: Shape['type'], width: number): (bits: bigint) => boolean {
  if (type === 'int') {
    const expected = integerBits(text, width);
    return (bits) => bits === expected;
  }
  const quiet = floatBits('nan', width as 32 | 64);
  const sign = 1n << BigInt(width - 1);
  if (text === 'nan:canonical') return (bits) => (bits & ~sign) === quiet;
  if (text === 'nan:arithmetic') return (bits) => (bits & quiet) === quiet;
  const expected = floatBits(text, width as 32 | 64);
  return (bits) => bits === expected;
}

function referencePattern(head: string, word: string | undefined): Pattern {
  return (value) => {
    if (value.kind !== 'reference') return false;
    switch (head) {
      case 'ref.null':
        return value.value === null;
      case 'ref.func':
        return typeof value.value === 'function';
      case 'ref.extern':
      case 'ref.host':
        return word === undefined ? value.value !== null : value.value === hostOf(word);
      default:
        return value.value !== null;
    }
  };
}

function hostOf(number: string): object {
  const known = hosts.get(number) ?? { host: number };
  hosts.set(number, known);
  return known;
}
