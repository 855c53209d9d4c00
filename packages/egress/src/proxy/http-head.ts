/** A header as it was written; `name` in lower case is for comparing. */
export interface Header {
  readonly name: string;
  readonly written: string;
  readonly value: string;
}

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly minor: 0 | 1;
  readonly headers: readonly Header[];
  readonly body: Framing;
}

export interface ResponseHead {
  readonly status: number;
  readonly reason: string;
  readonly minor: 0 | 1;
  readonly headers: readonly Header[];
  /** What the headers say; whether there is a body at all depends on the request too. */
  readonly body: Framing | { readonly kind: 'until-close' };
}

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' };

/** Why a head is not taken: for the 400 and for the record. */
export class BadHead extends Error {}

const END = Buffer.from('\r\n\r\n', 'latin1');
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ([!-~]+) HTTP\/1\.([01])$/;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5][0-9]{2})(?: ([\t -~\x80-\xff]*))?$/;
const HEADER_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xff]*)$/;
/** A line end that is not CR LF, or a NUL. */
// oxlint-disable-next-line no-control-regex
const STRAY = /(?:^|[^\r])\n|\r(?!\n|$)|\0/;

export interface HeadLimits {
  readonly bytes: number;
  readonly count: number;
}

/** What the proxy takes from tools; servers of this world refuse far less. */
export const HEAD_LIMITS: HeadLimits = { bytes: 64 * 1024, count: 200 };

/**
 * Where the head ends, or -1 when more is needed. `seen` bytes were looked at before. Throws `BadHead` as soon as it cannot
 * become one.
 */
export function findHeadEnd(bytes: Buffer, limits: HeadLimits = HEAD_LIMITS, seen = 0): number {
  const end = bytes.indexOf(END, Math.max(0, seen - END.length + 1));
  // SECURITY: T-25 — an endless head is ended by its size, and the clock ends a slow one.
  if (end > limits.bytes || (end === -1 && bytes.length > limits.bytes)) throw new BadHead('its head is too large');
  if (end !== -1) return end + END.length;
  // SECURITY: T-25 — bare line ends mean a new line to some and nothing to others.
  if (STRAY.test(bytes.toString('latin1', Math.max(0, seen - 1))))
    throw new BadHead('it has a line end that is not CR LF');
  return -1;
}

/** `bytes` is the head up to its empty line. */
export function readRequestHead(bytes: Buffer, limits: HeadLimits = HEAD_LIMITS): RequestHead {
  const [first = '', ...lines] = linesOf(bytes);
  const [, method, target, minor] = REQUEST_LINE.exec(first) ?? [];
  if (method === undefined || target === undefined) throw new BadHead('its first line is not that of a request');
  const headers = readHeaders(lines, limits);
  const version = minor === '0' ? 0 : 1;
  return { method, target, minor: version, headers, body: framingOf(headers, version) ?? { kind: 'none' } };
}

export function readResponseHead(bytes: Buffer, limits: HeadLimits = HEAD_LIMITS): ResponseHead {
  const [first = '', ...lines] = linesOf(bytes);
  const [, minor, status, reason = ''] = STATUS_LINE.exec(first) ?? [];
  if (status === undefined) throw new BadHead('its first line is not that of a response');
  const headers = readHeaders(lines, limits);
  const version = minor === '0' ? 0 : 1;
  const body = framingOf(headers, version) ?? ({ kind: 'until-close' } as const);
  return { status: Number(status), reason, minor: version, headers, body };
}

/** The value of the only header of that name; throws when there are two. */
export function onlyHeader(headers: readonly Header[], name: string): string | undefined {
  const found = headers.filter((header) => header.name === name);
  if (found.length > 1) throw new BadHead(`it has ${name} more than once`);
  return found[0]?.value;
}

/** Everything that is about this one connection, and what its Connection header adds. */
export function endToEndHeaders(headers: readonly Header[]): readonly Header[] {
  const named = new Set(HOP_BY_HOP);
  for (const { name, value } of headers) {
    if (name !== 'connection' && name !== 'proxy-connection') continue;
    for (const token of value.toLowerCase().split(',')) {
      const nominated = token.trim();
      // SECURITY: T-25 — "Connection: host" would make us take out what the next one decides by.
      if (NEVER_HOP_BY_HOP.has(nominated)) throw new BadHead(`its Connection header names ${nominated}`);
      named.add(nominated);
    }
  }
  return headers.filter(({ name }) => !named.has(name));
}

/** Whether the connection stays open behind this message, as far as its sender says. */
export function isKeptAlive({ minor, headers }: Pick<RequestHead, 'minor' | 'headers'>): boolean {
  const tokens = headers
    .filter(({ name }) => name === 'connection' || name === 'proxy-connection')
    .flatMap(({ value }) => value.toLowerCase().split(','))
    .map((token) => token.trim());
  return !tokens.includes('close') && (minor === 1 || tokens.includes('keep-alive'));
}

/** `websocket` when that and nothing else is asked for; every other upgrade is dropped. */
export function wantedUpgrade(headers: readonly Header[]): 'websocket' | undefined {
  const upgrade = headers.filter(({ name }) => name === 'upgrade');
  const isNamed = headers.some(
    ({ name, value }) => name === 'connection' && /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(value),
  );
  return isNamed && upgrade.length === 1 && upgrade[0]?.value.toLowerCase() === 'websocket' ? 'websocket' : undefined;
}

const HOP_BY_HOP = [
  'connection',
  'proxy-connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

const NEVER_HOP_BY_HOP = new Set(['host', 'content-length', 'content-type', 'authorization', 'cookie', 'set-cookie']);

function linesOf(head: Buffer): readonly string[] {
  const text = head.toString('latin1', 0, head.length - END.length);
  if (STRAY.test(text)) throw new BadHead('it has a line end that is not CR LF');
  return text.split('\r\n');
}

function readHeaders(lines: readonly string[], limits: HeadLimits): readonly Header[] {
  if (lines.length > limits.count) throw new BadHead('it has too many headers');
  return lines.map((line) => {
    // SECURITY: T-25 — a folded line and a blank in front of the colon are where two readers part.
    const [, written, value] = HEADER_LINE.exec(line) ?? [];
    if (written === undefined || value === undefined) throw new BadHead('it has a line that is no header');
    return { name: written.toLowerCase(), written, value: value.trimEnd() };
  });
}

/** SECURITY: T-25 — one way of saying how long the body is, or none; who says two means to be read in two ways. */
function framingOf(headers: readonly Header[], minor: 0 | 1): Framing | undefined {
  const length = onlyHeader(headers, 'content-length');
  const coding = onlyHeader(headers, 'transfer-encoding');
  if (length !== undefined && coding !== undefined)
    throw new BadHead('it has both content-length and transfer-encoding');
  if (coding !== undefined) {
    if (minor === 0 || coding.toLowerCase() !== 'chunked') throw new BadHead('its transfer-encoding is not chunked');
    return { kind: 'chunked' };
  }
  if (length === undefined) return undefined;
  if (!/^[0-9]{1,15}$/.test(length)) throw new BadHead('its content-length is no number');
  const bytes = Number(length);
  return bytes === 0 ? { kind: 'none' } : { kind: 'length', bytes };
}
