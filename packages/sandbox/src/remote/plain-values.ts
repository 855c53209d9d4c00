/**
 * Values of the sandbox as text: JSON in which every array begins with what it stands for, so that bytes and sets are told
 * apart from lists whatever names an object has. Properties that are undefined are left out.
 */
export function encodeValue(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(packed(value)));
}

/** Throws for what `encodeValue` never says. */
export function decodeValue(bytes: Buffer): unknown {
  return unpacked(JSON.parse(bytes.toString('utf8')) as Packed);
}

type Packed = string | number | boolean | null | readonly Packed[] | { readonly [name: string]: Packed };

function packed(value: unknown): Packed | undefined {
  if (value === undefined || value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : ['number', String(value)];
  if (value instanceof Uint8Array) return ['bytes', Buffer.from(value).toString('base64')];
  if (value instanceof Set) return ['set', ...[...value].map(inList)];
  if (Array.isArray(value)) return ['list', ...value.map(inList)];
  if (typeof value === 'object') return packedObject(value);
  throw new TypeError(`A ${typeof value} cannot be told to another process.`);
}

function inList(value: unknown): Packed {
  const item = packed(value);
  if (item === undefined) throw new TypeError('A list with holes cannot be told to another process.');
  return item;
}

function packedObject(value: object): Packed {
  const entries = Object.entries(value).map(([name, property]) => [name, packed(property)] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, Packed] => entry[1] !== undefined));
}

function unpacked(value: Packed): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (!isList(value)) return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, unpacked(each)]));
  const [tag, ...rest] = value;
  const [text] = rest;
  if (tag === 'list') return rest.map(unpacked);
  if (tag === 'set') return new Set(rest.map(unpacked));
  if (tag === 'bytes' && typeof text === 'string') return Buffer.from(text, 'base64');
  if (tag === 'number' && typeof text === 'string') return Number(text);
  throw new TypeError('That is no value of the sandbox.');
}

function isList(value: Packed): value is readonly Packed[] {
  return Array.isArray(value);
}
