import { denial } from '../denial.ts';
import type { FetchHop } from '../fetch-request.ts';
import { isMalformed } from '../hosts/canonical-host.ts';
import { canonicalAuthority, type Scheme, type Target } from '../hosts/target.ts';
import type { FetchEnd, FetchOrder, HeaderPairs } from '../wire/messages.ts';
import type { CallSession } from './call-session.ts';
import { decideTarget } from './decide-target.ts';
import { Stopped } from './exchange.ts';
import { fetchOnce, type OneAnswer } from './fetch-once.ts';
import { createLine, type Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { openTls } from './open-tls.ts';
import { type ReachDeps, reachHost } from './reach-host.ts';
import { harmless } from './request-target.ts';

export interface Fetch {
  readonly session: CallSession;
  readonly deps: ReachDeps;
  readonly request: FetchOrder;
  readonly credential: CallSession['credential'];
  readonly body: Uint8Array;
}

export interface Fetched {
  readonly end: FetchEnd;
  readonly body: Uint8Array;
}

/** One request of palyrad's own, redirects included: every hop is decided, resolved, checked and recorded like any connection. */
export async function fetchUrl(fetch: Fetch, signal: AbortSignal): Promise<Fetched> {
  const hops: FetchHop[] = [];
  const deadline = createDeadline(fetch.request.limits.totalMs);
  let hop: Hop = {
    url: fetch.request.url,
    method: fetch.request.method,
    headers: fetch.request.headers,
    body: fetch.body,
  };
  try {
    for (;;) {
      const place = placeOf(hop.url);
      const answer = await visit({ fetch, hop, place, deadline, signal });
      // SECURITY: T-24 — who was sent a secret does not also say where to go next.
      const next = fetch.request.redirects === 'return' ? undefined : redirectOf(answer, hop, place);
      if (next === undefined) return responded(answer, hop.url, hops);
      hops.push({ url: withoutFragment(hop.url), status: answer.status });
      // SECURITY: T-23 — a chain that does not end is ended, and no hop of it is less checked than the first.
      if (hops.length > fetch.request.limits.redirects)
        throw new Stopped(denial('egress.too_many_redirects', place.target));
      hop = next;
    }
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return {
      end: { kind: error instanceof Denied ? 'denied' : 'failed', denial: error.denial, hops },
      body: new Uint8Array(),
    };
  } finally {
    deadline.end();
  }
}

/** A rule was missing, in contrast to what went wrong although it was allowed. */
class Denied extends Stopped {}

interface Hop {
  readonly url: string;
  readonly method: string;
  readonly headers: HeaderPairs;
  readonly body: Uint8Array;
}

interface Place {
  readonly target: Target & { readonly scheme: Scheme };
  readonly path: string;
  readonly origin: string;
}

function placeOf(url: string): Place {
  const parsed = URL.parse(url);
  const nowhere = { host: harmless(url), port: 0 };
  const scheme = parsed?.protocol === 'http:' ? 'http' : 'https';
  if (parsed === null) throw new Denied(denial('egress.malformed_host', nowhere));
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')
    throw new Denied(denial('egress.unsupported', nowhere));
  // SECURITY: T-24 — a password in a URL would stand in the record and go wherever the URL goes.
  if (parsed.username !== '' || parsed.password !== '') {
    throw new Denied(
      denial('egress.malformed_host', { host: parsed.hostname, port: 0 }, { detail: 'with a user in front of it' }),
    );
  }
  const target = canonicalAuthority(parsed.host, scheme);
  if (isMalformed(target)) throw new Denied(denial('egress.malformed_host', nowhere));
  return { target: { ...target, scheme }, path: `${parsed.pathname}${parsed.search}`, origin: parsed.origin };
}

interface Visit {
  readonly fetch: Fetch;
  readonly hop: Hop;
  readonly place: Place;
  readonly deadline: Deadline;
  readonly signal: AbortSignal;
}

async function visit({ fetch, hop, place, deadline, signal }: Visit): Promise<OneAnswer> {
  const { session } = fetch;
  const attempt = session.begin('fetch', place.target);
  if (attempt === undefined) throw new Denied(denial('egress.too_many_attempts', place.target));
  // SECURITY: T-17 — all that a call has open at one time, whoever opened it.
  const leave = session.enterFetch();
  if (leave === undefined) {
    const why = denial('egress.too_many_connections', place.target);
    attempt.end({ kind: 'denied', denial: why });
    throw new Denied(why);
  }
  try {
    return await visitHeld({ fetch, hop, place, deadline, signal }, attempt);
  } finally {
    leave();
  }
}

async function visitHeld({ fetch, hop, place, deadline, signal }: Visit, attempt: OpenAttempt): Promise<OneAnswer> {
  const { session, request } = fetch;
  // While somebody is asked, the clock stands still.
  deadline.pause();
  const verdict = await decideTarget(session, attempt, {
    onGone: (listener) => signal.addEventListener('abort', listener),
  });
  deadline.resume();
  if (verdict.kind !== 'allowed') {
    const why = verdict.kind === 'denied' ? verdict.denial : denial('egress.cancelled', place.target);
    attempt.end({ kind: 'denied', denial: why });
    throw new Denied(why);
  }
  const over = AbortSignal.any([signal, deadline.signal]);
  try {
    const line = await reachLine(fetch, place, { attempt, over });
    over.addEventListener('abort', () => line.destroy());
    const credentials = await credentialsFor(fetch, place.target);
    const answer = await fetchOnce({ line, attempt, hop, credentials, request, ...place });
    attempt.end();
    line.destroy();
    return answer;
  } catch (error) {
    throw stopped(error, { attempt, over, deadline });
  }
}

interface Reaching {
  readonly attempt: OpenAttempt;
  readonly over: AbortSignal;
}

async function reachLine({ session, deps }: Fetch, { target }: Place, { attempt, over }: Reaching): Promise<Line> {
  const reached = await reachHost({ session, target, deps }, over);
  if (reached.kind !== 'reached') {
    throw reached.kind === 'denied' ? new Denied(reached.denial) : new Stopped(reached.denial);
  }
  attempt.reached(reached.address);
  const line = createLine(reached.socket);
  if (target.scheme === 'http') return line;
  const { authorities, limits } = session.order;
  const opened = await openTls(line, target, { authorities, ms: limits.connectMs });
  if (opened.kind === 'failed') throw new Stopped(opened.denial);
  attempt.named(target.host);
  return opened.line;
}

async function credentialsFor({ credential }: Fetch, target: Target): Promise<HeaderPairs> {
  try {
    return await credential(target);
  } catch {
    throw new Denied(denial('egress.denied', target, { detail: 'its credential is not to be had' }));
  }
}

/** Whatever ends a visit ends its attempt, with the reason. */
function stopped(error: unknown, { attempt, over, deadline }: Reaching & { readonly deadline: Deadline }): Stopped {
  const { target } = attempt;
  const known = error instanceof Stopped ? error : new Stopped(denial('egress.not_reached', target));
  const late = (): Stopped =>
    new Stopped(denial(deadline.signal.aborted ? 'egress.too_slow' : 'egress.cancelled', target));
  const why = over.aborted && !(error instanceof Denied) ? late() : known;
  attempt.end({ kind: why instanceof Denied ? 'denied' : 'failed', denial: why.denial });
  return why;
}

/** What a client may carry for one origin and no other. */
const FOR_ONE_ORIGIN = new Set([
  'authorization',
  'cookie',
  'proxy-authorization',
  'www-authenticate',
  'origin',
  'referer',
  'host',
]);
const ABOUT_THE_BODY = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'content-language',
  'content-location',
]);
/** What everybody may know. Any other header that was given for the first origin may be a key to it. */
const FOR_EVERYBODY = new Set(['accept', 'accept-language', 'accept-encoding', 'user-agent', ...ABOUT_THE_BODY]);

function redirectOf(answer: OneAnswer, hop: Hop, place: Place): Hop | undefined {
  const { location } = answer;
  if (location === undefined) return undefined;
  const url = URL.parse(location, hop.url);
  if (url === null)
    throw new Stopped(denial('egress.bad_response', place.target, { detail: 'it leads to no address' }));
  const becomesGet = answer.status === 303 ? hop.method !== 'HEAD' : answer.status < 303 && hop.method === 'POST';
  // SECURITY: T-24 — another origin gets nothing that was given for this one, also not on the way back.
  const isSame = url.origin === place.origin;
  const kept = hop.headers.filter(([name]) => {
    const header = name.toLowerCase();
    if (becomesGet && ABOUT_THE_BODY.has(header)) return false;
    return isSame || (FOR_EVERYBODY.has(header) && !FOR_ONE_ORIGIN.has(header));
  });
  return {
    url: url.href,
    method: becomesGet ? 'GET' : hop.method,
    headers: kept,
    body: becomesGet ? new Uint8Array() : hop.body,
  };
}

function responded({ status, headers, body }: OneAnswer, url: string, hops: readonly FetchHop[]): Fetched {
  return { end: { kind: 'response', status, headers, url: withoutFragment(url), hops }, body };
}

function withoutFragment(url: string): string {
  return url.replace(/#.*$/s, '');
}

interface Deadline {
  readonly signal: AbortSignal;
  pause(): void;
  resume(): void;
  end(): void;
}

function createDeadline(ms: number): Deadline {
  const controller = new AbortController();
  let left = ms;
  let since = performance.now();
  let timer: NodeJS.Timeout | undefined;
  const run = (): void => {
    since = performance.now();
    timer = setTimeout(() => controller.abort(), Math.max(0, left));
  };
  run();
  return {
    signal: controller.signal,
    pause() {
      clearTimeout(timer);
      left -= performance.now() - since;
    },
    resume: run,
    end: () => clearTimeout(timer),
  };
}
