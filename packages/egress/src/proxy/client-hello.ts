/** What the first bytes of a tunnel are. */
export type HelloReading =
  | { readonly kind: 'more' }
  | {
      readonly kind: 'hello';
      readonly serverName: string | undefined;
      readonly isEncrypted: boolean;
      /** How many bytes it takes, with its records. */
      readonly length: number;
    }
  | { readonly kind: 'malformed' };

const HANDSHAKE_RECORD = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0x0000;
const ENCRYPTED_HELLO = new Set([0xfe0d, 0xfe08, 0xfe09, 0xfe0a, 0xfe0b, 0xfe0c, 0xffce]);
const RECORD_BYTES = 2 ** 14;
/** Post-quantum key shares make some two kilobytes; nobody needs this many. */
const HELLO_BYTES = 2 ** 16;

/**
 * Reads the ClientHello at the beginning of a TLS connection, however it is cut into records and segments.
 *
 * SECURITY: T-51, T-25 — what can be read in two ways is malformed: two server names, lengths that do not add up, records
 * of another kind in between.
 */
export function readClientHello(bytes: Buffer): HelloReading {
  const handshake = handshakeOf(bytes);
  if (handshake === 'more' || handshake === 'malformed') return { kind: handshake };
  try {
    const name = readHello(new Cursor(handshake.message));
    return name === undefined ? { kind: 'malformed' } : { kind: 'hello', ...name, length: handshake.length };
  } catch (error) {
    if (error instanceof OutOfBytes) return { kind: 'malformed' };
    throw error;
  }
}

/** The body of the first handshake message, out of its records. */
function handshakeOf(bytes: Buffer): { readonly message: Buffer; readonly length: number } | 'more' | 'malformed' {
  const parts: Buffer[] = [];
  let have = 0;
  let wanted: number | undefined;
  for (let at = 0; ; ) {
    if (bytes.length - at < 5) return bytes.length > HELLO_BYTES ? 'malformed' : 'more';
    const length = bytes.readUInt16BE(at + 3);
    if (bytes[at] !== HANDSHAKE_RECORD || bytes[at + 1] !== 3) return 'malformed';
    if (length === 0 || length > RECORD_BYTES) return 'malformed';
    const part = bytes.subarray(at + 5, at + 5 + length);
    parts.push(part);
    have += part.length;
    at += 5 + length;
    if (have >= 4) {
      // SECURITY: T-39 — put together once: a hello in records of one byte would keep everybody's connections waiting.
      wanted ??= lengthOf(Buffer.concat(parts));
      if (wanted === undefined || have > wanted + 4) return 'malformed';
      if (have === wanted + 4) {
        return part.length < length ? 'malformed' : { message: Buffer.concat(parts).subarray(4), length: at };
      }
    }
    if (part.length < length) return 'more';
  }
}

function lengthOf(start: Buffer): number | undefined {
  const length = start.readUIntBE(1, 3);
  return start[0] === CLIENT_HELLO && length <= HELLO_BYTES ? length : undefined;
}

interface HelloName {
  readonly serverName: string | undefined;
  readonly isEncrypted: boolean;
}

/** Undefined when it does not add up. */
function readHello(cursor: Cursor): HelloName | undefined {
  cursor.take(2 + 32);
  cursor.take(cursor.number(1));
  cursor.take(cursor.number(2));
  cursor.take(cursor.number(1));
  if (cursor.left === 0) return { serverName: undefined, isEncrypted: false };
  const extensions = new Cursor(cursor.take(cursor.number(2)));
  if (cursor.left > 0) return undefined;
  const seen = new Set<number>();
  let serverName: string | undefined;
  let isEncrypted = false;
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const body = extensions.take(extensions.number(2));
    if (seen.has(type)) return undefined;
    seen.add(type);
    if (ENCRYPTED_HELLO.has(type)) isEncrypted = true;
    if (type !== SERVER_NAME) continue;
    serverName = serverNameOf(new Cursor(body));
    if (serverName === undefined) return undefined;
  }
  return { serverName, isEncrypted };
}

/** A list that may hold one name only, of the one type there is. */
function serverNameOf(cursor: Cursor): string | undefined {
  const list = new Cursor(cursor.take(cursor.number(2)));
  if (cursor.left > 0 || list.number(1) !== 0) return undefined;
  const name = list.take(list.number(2)).toString('latin1');
  return list.left === 0 && /^[!-~]{1,255}$/.test(name) ? name : undefined;
}

class OutOfBytes extends Error {}

class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(length: number): Buffer {
    if (length > this.left) throw new OutOfBytes();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  number(bytes: 1 | 2): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }
}
