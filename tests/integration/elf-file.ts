import { readFileSync } from 'node:fs';

/** What can be seen in a program of 64 bits, without running it: what its compiler and linker were told. */
export interface ElfFile {
  /** Wherever the kernel puts it, not at the addresses of the linker. */
  readonly isPositionIndependent: boolean;
  /** Needs neither a loader nor a library. */
  readonly isStatic: boolean;
  /** Its tables of addresses are read-only when it begins. */
  readonly hasRelro: boolean;
  /** All addresses are known by then, so that all the tables can be. */
  readonly bindsNow: boolean;
  /** `rw`, and not `rwx`. */
  readonly stack: string;
  /** Addresses of segments that can be written and run. */
  readonly writableCode: readonly number[];
  readonly functions: readonly ElfFunction[];
}

export interface ElfFunction {
  readonly name: string;
  /** Of the source that it is local to; of a global one undefined. */
  readonly file: string | undefined;
  readonly code: Buffer;
  /** Names of functions that it calls directly. */
  readonly calls: ReadonlySet<string>;
}

const LOAD = 1;
const DYNAMIC = 2;
const INTERPRETER = 3;
const STACK = 0x6474e551;
const RELRO = 0x6474e552;
const SYMBOL_TABLE = 2;

/** Throws for what is not such a file. */
export function readElf(path: string): ElfFile {
  const bytes = readFileSync(path);
  if (bytes.toString('latin1', 0, 6) !== '\x7fELF\x02\x01') throw new Error(`${path} is no ELF file of 64 bits.`);
  const segments = segmentsOf(bytes);
  const tags = dynamicTags(bytes, segments);
  const flags = tags.get(30) ?? 0;
  const flags1 = tags.get(0x6ffffffb) ?? 0;
  const isStatic = !segments.some(({ type }) => type === INTERPRETER) && !tags.has(1);
  return {
    isPositionIndependent: bytes.readUInt16LE(16) === 3 && (flags1 & 0x0800_0000) !== 0,
    isStatic,
    hasRelro: segments.some(({ type }) => type === RELRO),
    bindsNow: (flags & 8) !== 0 || (flags1 & 1) !== 0,
    // Without a word of it the kernel makes it executable.
    stack: segments.find(({ type }) => type === STACK)?.rights ?? 'rwx',
    writableCode: segments
      .filter(({ type, rights }) => type === LOAD && rights.includes('w') && rights.includes('x'))
      .map(({ address }) => address),
    functions: functionsOf(bytes, segments),
  };
}

interface Segment {
  readonly type: number;
  readonly rights: string;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

function segmentsOf(bytes: Buffer): readonly Segment[] {
  const table = { at: long(bytes, 32), each: bytes.readUInt16LE(54), count: bytes.readUInt16LE(56) };
  return entries(bytes, table).map((entry) => ({
    type: entry.readUInt32LE(0),
    rights: ['r', 'w', 'x'].filter((_, bit) => (entry.readUInt32LE(4) & (4 >> bit)) !== 0).join(''),
    offset: long(entry, 8),
    address: long(entry, 16),
    size: long(entry, 32),
  }));
}

function dynamicTags(bytes: Buffer, segments: readonly Segment[]): ReadonlyMap<number, number> {
  const found = segments.find(({ type }) => type === DYNAMIC);
  if (found === undefined) return new Map();
  const all = entries(bytes, { at: found.offset, each: 16, count: found.size / 16 });
  return new Map(all.map((entry) => [long(entry, 0), entry.readUInt32LE(8)]));
}

interface Symbol {
  readonly name: string;
  readonly kind: 'file' | 'function' | 'other';
  readonly isLocal: boolean;
  readonly address: number;
  readonly size: number;
}

function functionsOf(bytes: Buffer, segments: readonly Segment[]): readonly ElfFunction[] {
  const symbols = symbolsOf(bytes);
  const named = new Map<number, string[]>();
  for (const { kind, name, address } of symbols) {
    if (kind === 'function') named.set(address, [...(named.get(address) ?? []), name]);
  }
  let file: string | undefined;
  const functions: ElfFunction[] = [];
  for (const { kind, name, isLocal, address, size } of symbols) {
    if (kind === 'file') file = name;
    if (kind !== 'function' || size === 0) continue;
    const within = segments.find(
      (each) => each.type === LOAD && address >= each.address && address < each.address + each.size,
    );
    if (within === undefined) continue;
    const at = address - within.address + within.offset;
    const code = bytes.subarray(at, at + size);
    const calls = new Set(targetsOf(code, address).flatMap((target) => named.get(target) ?? []));
    functions.push({ name, file: isLocal ? file : undefined, code, calls });
  }
  return functions;
}

/** Each source's local symbols come behind its name. */
function symbolsOf(bytes: Buffer): readonly Symbol[] {
  const table = { at: long(bytes, 40), each: bytes.readUInt16LE(58), count: bytes.readUInt16LE(60) };
  const sections = entries(bytes, table);
  const found = sections.find((section) => section.readUInt32LE(4) === SYMBOL_TABLE);
  const texts = found === undefined ? undefined : sections[found.readUInt32LE(40)];
  if (found === undefined || texts === undefined) throw new Error('It has no symbols.');
  const names = bytes.subarray(long(texts, 24), long(texts, 24) + long(texts, 32));
  return entries(bytes, { at: long(found, 24), each: 24, count: long(found, 32) / 24 }).map((entry) => {
    const from = entry.readUInt32LE(0);
    return {
      name: names.toString('latin1', from, names.indexOf(0, from)),
      kind: ({ 2: 'function', 4: 'file' } as const)[entry.readUInt8(4) & 15] ?? 'other',
      isLocal: entry.readUInt8(4) >> 4 === 0,
      address: long(entry, 8),
      size: long(entry, 16),
    };
  });
}

/** Where it may call or jump to. Bytes that only look like a call lead to the beginning of a function by chance alone. */
function targetsOf(code: Buffer, address: number): readonly number[] {
  const targets: number[] = [];
  if (process.arch === 'arm64') {
    for (let at = 0; at + 4 <= code.length; at += 4) {
      const word = code.readUInt32LE(at);
      if (word >>> 26 === 0x25) targets.push(address + at + (((word << 6) >> 6) << 2));
    }
    return targets;
  }
  for (let at = 0; at + 5 <= code.length; at += 1) {
    const isCall = code[at] === 0xe8 || code[at] === 0xe9;
    if (isCall) targets.push(address + at + 5 + code.readInt32LE(at + 1));
  }
  return targets;
}

interface Table {
  readonly at: number;
  readonly each: number;
  readonly count: number;
}

function entries(bytes: Buffer, { at, each, count }: Table): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => bytes.subarray(at + index * each, at + (index + 1) * each));
}

function long(bytes: Buffer, at: number): number {
  return Number(bytes.readBigUInt64LE(at));
}
