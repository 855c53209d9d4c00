import { denial, type EgressDenial } from '../denial.ts';
import { readClientHello } from './client-hello.ts';
import type { Hello } from './inspect-tunnel.ts';
import { flowDown } from './join-lines.ts';
import type { Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';

export interface Handshake {
  readonly client: Line;
  readonly upstream: Line;
  readonly attempt: OpenAttempt;
  /** The first hello, which was looked at, is at the beginning of what the client has said. */
  readonly hello: Hello;
  objection(hello: Hello): EgressDenial | undefined;
}

export type Followed =
  | { readonly kind: 'settled'; readonly isFlowing: boolean }
  | { readonly kind: 'stopped'; readonly denial: EgressDenial };

/**
 * SECURITY: T-51 — a host may ask for the hello once more, and the second one has a name of its own. So the client's first
 * hello goes out alone, and what is behind it waits until the host's answer shows which of the two it was.
 */
export async function followHello({ client, upstream, attempt, hello, objection }: Handshake): Promise<Followed> {
  if (!(await passOn(client, { upstream, attempt, bytes: hello.length }))) return tooMuch(attempt);
  if (!(await isAskedAgain(upstream))) return { kind: 'settled', isFlowing: false };
  flowDown(upstream, client, attempt);
  for (;;) {
    const next = await nextRecord(client);
    if (next === 'ended') return { kind: 'settled', isFlowing: true };
    if (next.kind === 'malformed')
      return { kind: 'stopped', denial: denial('egress.malformed_request', attempt.target) };
    const why = next.kind === 'hello' ? objection(next) : undefined;
    if (why !== undefined) return { kind: 'stopped', denial: why };
    if (!(await passOn(client, { upstream, attempt, bytes: next.length }))) return tooMuch(attempt);
    if (next.kind === 'hello') return { kind: 'settled', isFlowing: true };
  }
}

const HANDSHAKE = 22;
const SERVER_HELLO = 2;
/** A change of cipher, an alert, early data. */
const PASSED_OVER = new Set([20, 21, 23]);
/** A ServerHello with this for its random number is a HelloRetryRequest (RFC 8446, 4.1.3). */
const RETRY = Buffer.from('cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c', 'hex');
const RANDOM_AT = 11;

async function isAskedAgain(upstream: Line): Promise<boolean> {
  const bytes = await atLeast(upstream, RANDOM_AT + RETRY.length);
  upstream.unread(bytes);
  if (bytes[0] !== HANDSHAKE || bytes[5] !== SERVER_HELLO) return false;
  return bytes.subarray(RANDOM_AT, RANDOM_AT + RETRY.length).equals(RETRY);
}

type NextRecord = Hello | { readonly kind: 'record'; readonly length: number } | { readonly kind: 'malformed' };

/** What may come in between is passed over. Everything read is put back. */
async function nextRecord(client: Line): Promise<NextRecord | 'ended'> {
  let bytes = await atLeast(client, 6);
  for (;;) {
    if (bytes.length < 6) return 'ended';
    const next = recordAt(bytes);
    if (next !== 'more') {
      client.unread(bytes);
      return next;
    }
    const more = await client.read();
    if (more === undefined) return 'ended';
    bytes = Buffer.concat([bytes, more]);
  }
}

function recordAt(bytes: Buffer): NextRecord | 'more' {
  const length = bytes.readUInt16BE(3) + 5;
  if (bytes[0] === HANDSHAKE) {
    const reading = readClientHello(bytes);
    return reading.kind === 'more' ? 'more' : reading;
  }
  if (!PASSED_OVER.has(bytes[0] ?? 0)) return { kind: 'malformed' };
  return bytes.length < length ? 'more' : { kind: 'record', length };
}

interface PassingOn {
  readonly upstream: Line;
  readonly attempt: OpenAttempt;
  readonly bytes: number;
}

/** Exactly so many bytes of what the client has said. False when they would be too many. */
async function passOn(client: Line, { upstream, attempt, bytes }: PassingOn): Promise<boolean> {
  const said = await atLeast(client, bytes);
  client.unread(said.subarray(bytes));
  if (!attempt.moveOut(bytes)) return false;
  await upstream.write(said.subarray(0, bytes));
  return true;
}

/** So many bytes or more; fewer only at the end. */
async function atLeast(line: Line, count: number): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < count) {
    const more = await line.read();
    if (more === undefined) break;
    bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
  }
  return bytes;
}

function tooMuch({ target }: OpenAttempt): Followed {
  return { kind: 'stopped', denial: denial('egress.too_many_bytes', target) };
}
