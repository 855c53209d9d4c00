const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const CODE_OF_VALUE = Uint8Array.from(ALPHABET, (letter) => letter.charCodeAt(0));
const NO_VALUE = 64;
const VALUE_OF_CODE = new Uint8Array(256).fill(NO_VALUE);
for (const [value, code] of CODE_OF_VALUE.entries()) VALUE_OF_CODE[code] = value;
const PADDING = '='.charCodeAt(0);

const NODE = (globalThis as { readonly Buffer?: typeof Buffer }).Buffer;
const ascii = new TextDecoder('latin1');

/** Node's own where there is Node. */
export function base64Of(bytes: Uint8Array): string {
  return NODE?.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') ?? portableBase64Of(bytes);
}

/** Own loops: `btoa` and `atob` go through strings of bytes, which costs more than the signature they carry. */
export function portableBase64Of(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING);
  const put = (at: number, value: number) => {
    codes[at] = CODE_OF_VALUE[value & 63] as number;
  };
  for (let from = 0, at = 0; from < bytes.length; from += 3, at += 4) {
    const left = bytes.length - from;
    const three = ((bytes[from] as number) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0);
    put(at, three >> 18);
    put(at + 1, three >> 12);
    if (left > 1) put(at + 2, three >> 6);
    if (left > 2) put(at + 3, three);
  }
  return ascii.decode(codes);
}

/**
 * Undefined unless the text is padded base64 in its one spelling: several spellings would be several signatures. Node's own
 * reads what is none, too, and skips what it cannot read: so its answer counts only if it is spelled as the text is.
 */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  if (NODE === undefined || text.length < SHORT) return portableBytesOfBase64(text);
  const bytes = NODE.from(text, 'base64');
  // A copy, which is no `Buffer`: their `slice` would share its memory.
  return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined;
}

/** Below this a loop is as fast. */
const SHORT = 64;

export function portableBytesOfBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const letters = text.length - padding;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let bits = 0;
  let held = 0;
  let at = 0;
  for (let from = 0; from < letters; from += 1) {
    const code = text.charCodeAt(from);
    const value = code < 256 ? (VALUE_OF_CODE[code] as number) : NO_VALUE;
    if (value === NO_VALUE) return undefined;
    bits = ((bits << 6) | value) & 0xffff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at] = bits >> held;
    at += 1;
  }
  // The bits that no byte needs are zero in the one spelling that there is.
  return (bits & ((1 << held) - 1)) === 0 ? bytes : undefined;
}
