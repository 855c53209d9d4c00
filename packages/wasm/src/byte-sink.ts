/** Bytes that are being written: one buffer, doubled when it is full. */
export interface ByteSink {
  buffer: Uint8Array;
  length: number;
}

export function createSink(capacity: number): ByteSink {
  return { buffer: new Uint8Array(Math.max(64, capacity)), length: 0 };
}

export function writtenBytes(sink: ByteSink): Uint8Array {
  return sink.buffer.subarray(0, sink.length);
}

export function putByte(sink: ByteSink, byte: number): void {
  if (sink.length === sink.buffer.length) makeRoom(sink, 1);
  sink.buffer[sink.length++] = byte;
}

/** Short runs are copied byte by byte: `set` costs more than it saves below some dozens. */
export function putRange(sink: ByteSink, from: Uint8Array, start: number, end: number): void {
  const count = end - start;
  if (sink.length + count > sink.buffer.length) makeRoom(sink, count);
  if (count > 48) {
    sink.buffer.set(from.subarray(start, end), sink.length);
    sink.length += count;
    return;
  }
  const { buffer } = sink;
  let at = sink.length;
  for (let index = start; index < end; index += 1) buffer[at++] = from[index] as number;
  sink.length = at;
}

export function putBytes(sink: ByteSink, from: ArrayLike<number> & { readonly length: number }): void {
  for (let index = 0; index < from.length; index += 1) putByte(sink, from[index] as number);
}

export function putU32(sink: ByteSink, value: number): void {
  let rest = value;
  while (rest > 0x7f) {
    putByte(sink, (rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  putByte(sink, rest);
}

/** A non-negative number in the signed form that `i64.const` wants. */
export function putPositive(sink: ByteSink, value: number): void {
  let rest = value;
  while (rest > 0x3f) {
    putByte(sink, (rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  putByte(sink, rest);
}

export function putName(sink: ByteSink, name: string): void {
  const bytes = new TextEncoder().encode(name);
  putU32(sink, bytes.length);
  putRange(sink, bytes, 0, bytes.length);
}

/** Writes `write`'s bytes with their length in front: in five bytes, so that nothing has to be moved afterwards. */
export function putSized(sink: ByteSink, write: () => void): void {
  const at = sink.length;
  for (let index = 0; index < 5; index += 1) putByte(sink, 0);
  write();
  const length = sink.length - at - 5;
  for (let index = 0; index < 5; index += 1) {
    sink.buffer[at + index] = (Math.floor(length / 128 ** index) & 0x7f) | (index < 4 ? 0x80 : 0);
  }
}

function makeRoom(sink: ByteSink, count: number): void {
  const grown = new Uint8Array(Math.max(sink.buffer.length * 2, sink.length + count));
  grown.set(sink.buffer.subarray(0, sink.length));
  sink.buffer = grown;
}
