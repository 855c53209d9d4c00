/**
 * As much of DER as a certificate needs, to write and not to read. Our own because the libraries for it belong to identity
 * (tools/layers.ts) and patch globals; this process reads what strangers send, and loads as little as it can.
 */
export type Der = Buffer;

export function sequence(...parts: readonly Der[]): Der {
  return tagged(0x30, ...parts);
}

export function set(...parts: readonly Der[]): Der {
  return tagged(0x31, ...parts);
}

/** `[n]` around something, which keeps its own tag. */
export function explicit(tag: number, ...parts: readonly Der[]): Der {
  return tagged(0xa0 | tag, ...parts);
}

/** `[n]` in place of the tag of a primitive. */
export function implicit(tag: number, content: Buffer): Der {
  return tagged(0x80 | tag, content);
}

/** Of a number that is not negative, big-endian. */
export function integer(bytes: Buffer): Der {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first === -1 ? Buffer.from([0]) : bytes.subarray(first);
  const isNegative = ((short[0] ?? 0) & 0x80) !== 0;
  return tagged(0x02, ...(isNegative ? [Buffer.from([0]), short] : [short]));
}

export function boolean(value: boolean): Der {
  return tagged(0x01, Buffer.from([value ? 0xff : 0]));
}

export function octets(content: Buffer): Der {
  return tagged(0x04, content);
}

export function bits(content: Buffer, unused = 0): Der {
  return tagged(0x03, Buffer.from([unused]), content);
}

export function text(value: string): Der {
  return tagged(0x0c, Buffer.from(value, 'utf8'));
}

/** `1.2.840.10045.4.3.2` */
export function oid(dotted: string): Der {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(inSevens)]));
}

/** Dates of certificates: two digits of the year up to 2049, four from then on. */
export function time(ms: number): Der {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return digits < '2050' ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits));
}

function tagged(tag: number, ...parts: readonly Buffer[]): Der {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function inSevens(value: number): readonly number[] {
  const sevens = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) sevens.unshift((rest & 0x7f) | 0x80);
  return sevens;
}
