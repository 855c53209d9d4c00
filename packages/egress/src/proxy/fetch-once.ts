import { denial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import type { FetchOrder, HeaderPairs } from '../wire/messages.ts';
import { Stopped } from './exchange.ts';
import { type BodyFraming, CutShort, readBody } from './http-body.ts';
import { BadHead, type HeadLimits, onlyHeader, type ResponseHead, readResponseHead } from './http-head.ts';
import { inflater } from './inflater.ts';
import type { Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { readHead, TooSlow } from './read-head.ts';
import { hostHeader } from './request-target.ts';

export interface OneFetch {
  readonly line: Line;
  readonly attempt: OpenAttempt;
  readonly target: Target;
  readonly path: string;
  readonly hop: { readonly method: string; readonly headers: HeaderPairs; readonly body: Uint8Array };
  readonly credentials: HeaderPairs;
  readonly request: FetchOrder;
}

export interface OneAnswer {
  readonly status: number;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
  /** Where it leads, when it is a redirect; then there is no body. */
  readonly location: string | undefined;
}

/** Ours to write, whatever was asked for. */
const OURS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'accept-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);
const MOST_INTERIM = 16;

/** One request on one connection, and its whole answer within the limits. Throws `Stopped`. */
export async function fetchOnce(fetch: OneFetch): Promise<OneAnswer> {
  const { target } = fetch;
  try {
    await sendRequest(fetch);
    const head = await readAnswerHead(fetch);
    const all = head.headers.map(({ name, value }) => [name, value] as const);
    const headers = all.filter(([name]) => !CHANGED.has(name));
    const location = REDIRECTS.has(head.status) ? onlyHeader(head.headers, 'location') : undefined;
    if (location !== undefined) return { status: head.status, headers, body: new Uint8Array(), location };
    checkType(head, fetch);
    return { status: head.status, headers, body: await readAnswerBody(head, fetch), location };
  } catch (error) {
    if (error instanceof BadHead) throw new Stopped(denial('egress.bad_response', target, { detail: error.message }));
    if (error instanceof TooSlow) throw new Stopped(denial('egress.too_slow', target));
    if (error instanceof CutShort) throw new Stopped(denial('egress.not_reached', target));
    throw error;
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Of the connection and of how the body came, which it does not any more. */
const CHANGED = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
  'trailer',
]);

/**
 * SECURITY: T-24 — with a secret on it nothing is asked for packed: what packs well beside a secret that is said back is like it,
 * and how many bytes came is counted where whoever asked may learn of it.
 */
async function sendRequest({ line, attempt, target, path, hop, credentials }: OneFetch): Promise<void> {
  const replaced = new Set([...OURS, ...credentials.map(([name]) => name.toLowerCase())]);
  const given = hop.headers.filter(([name]) => !replaced.has(name.toLowerCase()));
  const hasBody = hop.body.length > 0 || hop.method === 'POST' || hop.method === 'PUT' || hop.method === 'PATCH';
  const lines = [
    `${hop.method} ${path} HTTP/1.1`,
    `host: ${hostHeader(target)}`,
    ...[...given, ...credentials].map(([name, value]) => `${name}: ${value}`),
    `accept-encoding: ${credentials.length > 0 ? 'identity' : 'gzip, deflate, br, zstd'}`,
    ...(hasBody ? [`content-length: ${hop.body.length}`] : []),
    'connection: close',
  ];
  const bytes = Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), hop.body]);
  if (!attempt.moveOut(bytes.length)) throw new Stopped(denial('egress.too_many_bytes', target));
  attempt.requested();
  await line.write(bytes);
}

async function readAnswerHead({ line, attempt, target, request }: OneFetch): Promise<ResponseHead> {
  const limits: HeadLimits = { bytes: request.limits.headerBytes, count: request.limits.headerCount };
  for (let interim = 0; interim < MOST_INTERIM; interim += 1) {
    const bytes = await readHead(line, { headMs: request.limits.totalMs, limits });
    if (bytes === undefined) throw new CutShort();
    if (!attempt.moveIn(bytes.length)) throw new Stopped(denial('egress.too_many_bytes', target));
    const head = readResponseHead(bytes, limits);
    if (head.status >= 200) return head;
    if (head.status === 101) break;
  }
  throw new BadHead('it never comes to the point');
}

function checkType(head: ResponseHead, { request, target }: OneFetch): void {
  if (request.contentTypes === undefined || head.body.kind === 'none') return;
  const written = head.headers.find(({ name }) => name === 'content-type')?.value ?? 'application/octet-stream';
  const type = (written.split(';')[0] ?? '').trim().toLowerCase();
  const isTaken = request.contentTypes.some((taken) => {
    const wanted = taken.toLowerCase();
    return wanted === '*/*' || wanted === type || (wanted.endsWith('/*') && type.startsWith(wanted.slice(0, -1)));
  });
  const isShown = /^[\w.+/-]{1,80}$/.test(type);
  if (!isTaken) throw new Stopped(denial('egress.content_type_not_allowed', target, isShown ? { detail: type } : {}));
}

async function readAnswerBody(
  head: ResponseHead,
  { line, attempt, target, hop, request }: OneFetch,
): Promise<Uint8Array> {
  const hasNone = hop.method === 'HEAD' || head.status === 204 || head.status === 304;
  const framing: BodyFraming = hasNone ? { kind: 'none' } : head.body;
  const coding = head.headers.filter(({ name }) => name === 'content-encoding').map(({ value }) => value);
  const most = request.limits.bodyBytes;
  const tooLarge = (): Stopped =>
    new Stopped(denial('egress.response_too_large', target, { detail: `more than ${most} bytes` }));
  if (framing.kind === 'length' && coding.length === 0 && framing.bytes > most) throw tooLarge();
  const sink = inflater(framing.kind === 'none' ? [] : coding, { most, tooLarge });
  try {
    await readBody(line, framing, (piece) => {
      if (!attempt.moveIn(piece.length)) throw new Stopped(denial('egress.too_many_bytes', target));
      return sink.write(piece);
    });
    return await sink.end();
  } catch (error) {
    sink.destroy();
    throw error;
  }
}
