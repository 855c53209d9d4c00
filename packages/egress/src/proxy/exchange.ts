import { denial, type EgressDenial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import type { HeaderPairs } from '../wire/messages.ts';
import { type BodyFraming, bodyWriter, CutShort, readBody } from './http-body.ts';
import {
  BadHead,
  endToEndHeaders,
  type Header,
  isKeptAlive,
  type RequestHead,
  type ResponseHead,
  readResponseHead,
  wantedUpgrade,
} from './http-head.ts';
import type { Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { readHead } from './read-head.ts';
import { hostHeader } from './request-target.ts';

export interface Exchange {
  readonly request: RequestHead;
  readonly path: string;
  readonly target: Target;
  /** Put in place of what the tool sent under these names. */
  readonly credentials: HeaderPairs;
  readonly client: Line;
  readonly upstream: Line;
  readonly attempt: OpenAttempt;
  readonly headMs: number;
}

/** `again`: both connections can carry the next request. `upgraded`: they carry something else from now on. */
export type ExchangeEnd = 'again' | 'close' | 'upgraded';

/** Ends an exchange from within, with the reason for the record. */
export class Stopped extends Error {
  readonly denial: EgressDenial;

  constructor(why: EgressDenial) {
    super(why.message);
    this.denial = why;
  }
}

/** The host closed a connection before it answered: on one that was used before, this means nothing. */
export class NoAnswer extends Error {}

/** One request and its answer. Throws `BadHead` (of the tool), `Stopped`, `NoAnswer` or `CutShort`. */
export async function exchange(parts: Exchange): Promise<ExchangeEnd> {
  const upload = startUpload(parts);
  const answer = await readAnswer(parts, upload);
  if (answer.status === 101) {
    await upload.done;
    void parts.client.write(
      writeHead(`HTTP/1.1 101 ${answer.reason}`, [...endToEndHeaders(answer.headers), ...UPGRADE]),
    );
    return 'upgraded';
  }
  const isReusable = await passAnswer(answer, parts);
  // A host that has answered before it heard everything will not hear the rest.
  if (!upload.isDone) return 'close';
  return isReusable ? 'again' : 'close';
}

interface Upload {
  readonly done: Promise<void>;
  isDone: boolean;
  fault: unknown;
}

const UPGRADE: readonly Header[] = [
  { name: 'connection', written: 'Connection', value: 'Upgrade' },
  { name: 'upgrade', written: 'Upgrade', value: 'websocket' },
];

function startUpload({ request, path, target, credentials, client, upstream, attempt }: Exchange): Upload {
  const replaced = new Set([
    'host',
    ...(request.body.kind === 'none' ? [] : ['content-length']),
    ...credentials.map(([name]) => name.toLowerCase()),
  ]);
  const kept = endToEndHeaders(request.headers).filter(({ name }) => !replaced.has(name));
  const head = writeHead(`${request.method} ${path} HTTP/1.1`, [
    { name: 'host', written: 'Host', value: hostHeader(target) },
    ...kept,
    ...framingHeaders(request.body),
    ...(wantedUpgrade(request.headers) === undefined ? [] : UPGRADE),
    ...credentials.map(([written, value]) => ({ name: written.toLowerCase(), written, value })),
  ]);
  moveOut(attempt, head.length);
  attempt.requested();
  if (request.body.kind === 'none') {
    void upstream.write(head);
    return { done: Promise.resolve(), isDone: true, fault: undefined };
  }
  upstream.gather();
  void upstream.write(head);
  const upload: Upload = { done: send(), isDone: false, fault: undefined };
  return upload;

  async function send(): Promise<void> {
    try {
      const writer = bodyWriter(upstream, request.body);
      await readBody(client, request.body, (piece) => {
        moveOut(attempt, piece.length);
        return writer.piece(piece);
      });
      await writer.end();
      upload.isDone = true;
    } catch (error) {
      // SECURITY: T-25 — a request that went wrong half way is never completed by what comes next.
      upload.fault = error;
      upstream.destroy();
    }
  }
}

/** Interim answers that are passed over; more is a host that never comes to the point. */
const MOST_INTERIM = 16;

async function readAnswer(
  { request, client, upstream, attempt, headMs }: Exchange,
  upload: Upload,
): Promise<ResponseHead> {
  const wantsContinue = request.headers.some(
    ({ name, value }) => name === 'expect' && value.toLowerCase() === '100-continue',
  );
  const isUpgrade = wantedUpgrade(request.headers) !== undefined;
  for (let interim = 0; interim < MOST_INTERIM; interim += 1) {
    const bytes = await headOf(upstream, headMs, upload);
    moveIn(attempt, bytes.length);
    const head = asResponse(bytes, attempt.target);
    if (head.status >= 200 || (head.status === 101 && isUpgrade)) return head;
    if (head.status === 101) break;
    if (head.status === 100 && wantsContinue && request.minor === 1) void client.write('HTTP/1.1 100 Continue\r\n\r\n');
  }
  throw new Stopped(denial('egress.bad_response', attempt.target));
}

async function headOf(upstream: Line, headMs: number, upload: Upload): Promise<Buffer> {
  let bytes: Buffer | undefined;
  try {
    bytes = await readHead(upstream, { headMs });
  } catch (error) {
    if (upload.fault === undefined && error instanceof BadHead) throw new NoAnswer(error.message);
    if (upload.fault === undefined) throw error;
  }
  if (upload.fault instanceof Error) throw upload.fault;
  if (bytes === undefined) throw new NoAnswer();
  return bytes;
}

function asResponse(bytes: Buffer, target: Target): ResponseHead {
  try {
    return readResponseHead(bytes);
  } catch (error) {
    if (error instanceof BadHead) throw new Stopped(denial('egress.bad_response', target, { detail: error.message }));
    throw error;
  }
}

/** Whether both sides can go on behind it. */
async function passAnswer(answer: ResponseHead, { request, client, upstream, attempt }: Exchange): Promise<boolean> {
  const framing = bodyOf(answer, request);
  const mayStay = framing.kind !== 'until-close' && isKeptAlive(request);
  // Who speaks 1.0 knows no chunks: what comes in them goes on without, up to the end of the connection.
  const towardsClient: BodyFraming =
    framing.kind === 'chunked' && request.minor === 0 ? { kind: 'until-close' } : framing;
  const stays = mayStay && towardsClient.kind !== 'until-close';
  const kept = endToEndHeaders(answer.headers).filter(
    ({ name }) => framing.kind === 'none' || name !== 'content-length',
  );
  const head = writeHead(`HTTP/1.1 ${answer.status} ${answer.reason}`, [
    ...kept,
    ...(framing.kind === 'none' ? [] : framingHeaders(towardsClient)),
    { name: 'connection', written: 'connection', value: stays ? 'keep-alive' : 'close' },
  ]);
  client.gather();
  void client.write(head);
  const writer = bodyWriter(client, towardsClient);
  try {
    await readBody(upstream, framing, (piece) => {
      moveIn(attempt, piece.length);
      return writer.piece(piece);
    });
  } catch (error) {
    // Part of it is out already: an end in the middle is the only honest word left.
    client.destroy();
    throw error instanceof Stopped ? error : new CutShort();
  }
  await writer.end();
  return stays && isKeptAlive(answer);
}

function bodyOf(answer: ResponseHead, request: RequestHead): BodyFraming {
  const hasNone = request.method === 'HEAD' || answer.status === 204 || answer.status === 304;
  return hasNone ? { kind: 'none' } : answer.body;
}

function framingHeaders(framing: BodyFraming): readonly Header[] {
  if (framing.kind === 'length')
    return [{ name: 'content-length', written: 'Content-Length', value: `${framing.bytes}` }];
  if (framing.kind === 'chunked')
    return [{ name: 'transfer-encoding', written: 'Transfer-Encoding', value: 'chunked' }];
  return [];
}

function writeHead(first: string, headers: readonly Header[]): Buffer {
  const lines = headers.map(({ written, value }) => `${written}: ${value}`);
  return Buffer.from(`${[first, ...lines].join('\r\n')}\r\n\r\n`, 'latin1');
}

function moveOut(attempt: OpenAttempt, bytes: number): void {
  if (!attempt.moveOut(bytes)) throw new Stopped(denial('egress.too_many_bytes', attempt.target));
}

function moveIn(attempt: OpenAttempt, bytes: number): void {
  if (!attempt.moveIn(bytes)) throw new Stopped(denial('egress.too_many_bytes', attempt.target));
}
