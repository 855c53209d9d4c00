import { type HelloReading, readClientHello } from './client-hello.ts';
import type { Line } from './line.ts';

export type Hello = Extract<HelloReading, { kind: 'hello' }>;

/** What a client begins a tunnel with. `bytes` is everything that was read of it. */
export type TunnelStart =
  | { readonly kind: 'tls'; readonly bytes: Buffer; readonly hello: Hello }
  /** `old`: without a version, and so without a Host that could be looked at. */
  | { readonly kind: 'http'; readonly bytes: Buffer; readonly version: 'named' | 'old' }
  | { readonly kind: 'other'; readonly bytes: Buffer }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'too-slow' }
  /** It has ended without a byte. */
  | { readonly kind: 'silent' };

const TLS_HANDSHAKE = 22;
/** Long enough for any request line; a text protocol without a line end by then is none that we know. */
const FIRST_LINE_BYTES = 16 * 1024;
const MOST_PIECES = 512;

/** Waits for the client's first words for as long as it likes, and for the rest of them for `headMs`. */
export async function inspectTunnel(client: Line, headMs: number): Promise<TunnelStart> {
  const first = await client.read();
  if (first === undefined) return { kind: 'silent' };
  let start = startOf(first);
  if (start !== undefined) return start;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    client.unread(Buffer.from([0]));
  }, headMs);
  try {
    let bytes = first;
    for (let pieces = 1; start === undefined; pieces += 1) {
      const more = await client.read();
      if (isLate) return { kind: 'too-slow' };
      if (more === undefined || pieces > MOST_PIECES) return { kind: 'malformed' };
      bytes = Buffer.concat([bytes, more]);
      start = startOf(bytes);
    }
    return start;
  } finally {
    clearTimeout(timer);
  }
}

/** Undefined while more is needed. */
function startOf(bytes: Buffer): TunnelStart | undefined {
  if (bytes[0] === TLS_HANDSHAKE) {
    const reading = readClientHello(bytes);
    if (reading.kind === 'more') return undefined;
    return reading.kind === 'malformed' ? reading : { kind: 'tls', bytes, hello: reading };
  }
  return textStart(bytes);
}

/** HTTP/0.9, which many servers still answer. A path or a URL: other protocols have words like GET, too. */
const OLD_REQUEST = /^[A-Z]{3,32}[\t ]+(?:\/|https?:)/;

/** SECURITY: T-51 — plain HTTP is looked at, so that its Host is the one that was allowed; blank lines in front hide nothing. */
function textStart(bytes: Buffer): TunnelStart | undefined {
  const text = bytes.toString('latin1', 0, FIRST_LINE_BYTES).replace(/^[\r\n\t ]+/, '');
  const line = /^[^\r\n]*(?=[\r\n])/.exec(text)?.[0];
  if (line !== undefined) {
    if (/\s*HTTP\/[0-9]/i.test(line)) return { kind: 'http', bytes, version: 'named' };
    return OLD_REQUEST.test(line) ? { kind: 'http', bytes, version: 'old' } : { kind: 'other', bytes };
  }
  // A method and a blank: whatever stands in such a line, some server takes it for a request.
  const isText = /^[\t -~\x80-\xff]*$/.test(text) || /^[A-Za-z]{1,32}[\t ]/.test(text);
  if (!isText) return { kind: 'other', bytes };
  return bytes.length > FIRST_LINE_BYTES ? { kind: 'malformed' } : undefined;
}
