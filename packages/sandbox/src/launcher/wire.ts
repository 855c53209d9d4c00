/**
 * The language between us and the launcher; `native/wire.h` is its other half, and says what each number means. Change
 * both or neither.
 */
export const WIRE_VERSION = 5;
export const FRAME_HEADER = 9;
export const MAX_CHUNK: number = 64 * 1024;
/** Input that may be on its way before some of it was taken. */
export const STDIN_WINDOW: number = 256 * 1024;
/** Where a tool with a way out finds it, on its own loopback. */
export const PROXY_PORT = 3128;
/** A gate's IPC channel. */
export const GATE_CHANNEL = 7;
export const MAX_LABEL = 128;

export const TO_LAUNCHER = {
  start: 1,
  go: 2,
  kill: 3,
  stdin: 4,
  stdinEnd: 5,
  credit: 6,
  resize: 7,
  signal: 8,
} as const;

export const FROM_LAUNCHER = {
  hello: 128,
  facts: 129,
  stdout: 130,
  stderr: 131,
  stdinTaken: 132,
  ended: 133,
  failed: 134,
} as const;

export const START_ITEM = {
  toolPath: 1,
  toolArgument: 2,
  toolVariable: 3,
  cwd: 4,
  terminal: 5,
  rlimit: 6,
  tmpfs: 7,
  bound: 8,
  later: 9,
  listener: 10,
  wrapperArgument: 16,
  identity: 17,
  staged: 18,
  cgroup: 19,
  cgroupSetting: 20,
  cgroupCounter: 21,
  data: 22,
  landlockRule: 23,
  watch: 24,
  cpuCounter: 25,
  stdin: 26,
  landlockStamp: 27,
  filter: 28,
  gate: 29,
  wayOut: 30,
  handOver: 31,
} as const;

export const FACTS_ITEM = {
  inside: 1,
  outsideProcess: 2,
  outside: 3,
  hostNamespace: 4,
  cgroupFile: 5,
  landlockRules: 6,
  listener: 7,
} as const;

export const ENDED_ITEM = { status: 1, usage: 2, cgroupFile: 3, started: 4, full: 5 } as const;

export const REASONS = ['none', 'wall', 'idle', 'output', 'cancelled', 'cpu'] as const;
export type Reason = (typeof REASONS)[number];

export interface Frame {
  readonly kind: number;
  readonly job: number;
  readonly payload: Buffer;
}

const NOTHING = Buffer.alloc(0);

export function encodeFrame(kind: number, job: number, payload: Uint8Array = NOTHING): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt8(kind, 4);
  frame.writeUInt32LE(job, 5);
  frame.set(payload, FRAME_HEADER);
  return frame;
}

export interface Item {
  readonly tag: number;
  readonly bytes: Buffer;
}

/** A text is sent as UTF-8. */
export interface ItemToSend {
  readonly tag: number;
  readonly bytes: Uint8Array | string;
}

export function encodeItems(items: readonly ItemToSend[]): Buffer {
  let total = 0;
  for (const { bytes } of items) total += 6 + (typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length);
  const all = Buffer.allocUnsafe(total);
  let at = 0;
  for (const { tag, bytes } of items) {
    const from = at + 6;
    if (typeof bytes === 'string') at = from + all.write(bytes, from);
    else {
      all.set(bytes, from);
      at = from + bytes.length;
    }
    all.writeUInt16LE(tag, from - 6);
    all.writeUInt32LE(at - from, from - 4);
  }
  return all;
}

/** Told of each item where its content begins and ends. False when the bytes are not a list of items. */
export function eachItem(bytes: Buffer, hear: (tag: number, from: number, to: number) => void): boolean {
  let at = 0;
  while (at < bytes.length) {
    if (bytes.length - at < 6) return false;
    const from = at + 6;
    const length = bytes.readUInt32LE(at + 2);
    if (length > bytes.length - from) return false;
    hear(bytes.readUInt16LE(at), from, from + length);
    at = from + length;
  }
  return true;
}

/** Undefined when the bytes are not a list of items. */
export function decodeItems(bytes: Buffer): readonly Item[] | undefined {
  const items: Item[] = [];
  const isList = eachItem(bytes, (tag, from, to) => items.push({ tag, bytes: bytes.subarray(from, to) }));
  return isList ? items : undefined;
}

const NOT_ASCII = /[^\0-\x7f]/;

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/**
 * Reads `name, NUL, the rest` out of a part of the bytes; undefined without a NUL. Out of one text of all of them: most are small
 * and ASCII, and a text of its own for each, twice, would take longer than to read them.
 */
export function namedTextsIn(bytes: Buffer): (from: number, to: number) => NamedText | undefined {
  const all = bytes.toString('latin1');
  return (from, to) => {
    const nul = all.indexOf('\0', from);
    if (nul < 0 || nul >= to) return undefined;
    const part = all.slice(from, to);
    if (NOT_ASCII.test(part))
      return { name: bytes.toString('utf8', from, nul), text: bytes.toString('utf8', nul + 1, to) };
    return { name: part.slice(0, nul - from), text: part.slice(nul + 1 - from) };
  };
}

/** Cuts a stream of bytes into frames. */
export function createFrameReader(): (chunk: Buffer) => readonly Frame[] {
  let pending: Buffer = Buffer.alloc(0);
  return (chunk) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const frames: Frame[] = [];
    let at = 0;
    while (pending.length - at >= FRAME_HEADER) {
      const length = pending.readUInt32LE(at);
      const end = at + FRAME_HEADER + length;
      if (end > pending.length) break;
      const payload = pending.subarray(at + FRAME_HEADER, end);
      frames.push({ kind: pending.readUInt8(at + 4), job: pending.readUInt32LE(at + 5), payload });
      at = end;
    }
    pending = pending.subarray(at);
    return frames;
  };
}
