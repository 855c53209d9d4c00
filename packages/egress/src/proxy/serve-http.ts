import { denial, type EgressDenial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import { decideTarget } from './decide-target.ts';
import { type ExchangeEnd, exchange, NoAnswer, Stopped } from './exchange.ts';
import { CutShort } from './http-body.ts';
import { BadHead, endToEndHeaders, type RequestHead, readRequestHead } from './http-head.ts';
import { joinLines } from './join-lines.ts';
import { createLine, type Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { type ReachDeps, reachHost } from './reach-host.ts';
import { readHead, TooSlow } from './read-head.ts';
import { refusalResponse } from './refusal.ts';
import {
  absoluteTarget,
  BadTarget,
  connectTarget,
  harmless,
  OtherHost,
  originTarget,
  type RequestTarget,
} from './request-target.ts';

/** A host that this connection is talking to. */
export interface OpenHost {
  readonly target: Target;
  readonly line: Line;
  readonly attempt: OpenAttempt;
}

export interface HttpConnection {
  readonly client: Line;
  readonly session: CallSession;
  readonly deps: ReachDeps;
  /** Inside a tunnel: every request is for this host. Absent: each names its own. */
  readonly settled?: OpenHost;
  /** What becomes of the connection after CONNECT; it is given away. Absent inside a tunnel. */
  connect?(target: Target): Promise<void>;
}

type Step = 'again' | 'close' | 'given-away';

/** Requests one after the other, each decided anew, until either side has enough. */
export async function serveHttp(connection: HttpConnection): Promise<void> {
  const { client, session } = connection;
  let host: OpenHost | undefined = connection.settled;
  client.onClosed(() => host?.line.destroy());
  try {
    for (let step: Step = 'again'; step === 'again'; ) {
      const served = await serveRequest(connection, host);
      host = served.host;
      step = served.step;
      if (step === 'given-away') return;
    }
    client.finish();
  } catch (error) {
    refuse(client, explain(error, session, host?.target));
  }
  host?.line.destroy();
  host?.attempt.end();
}

interface Served {
  readonly step: Step;
  readonly host: OpenHost | undefined;
}

async function serveRequest(connection: HttpConnection, open: OpenHost | undefined): Promise<Served> {
  const { client, session, deps, settled } = connection;
  const bytes = await readHead(client, { headMs: session.order.limits.headMs });
  if (bytes === undefined) return { step: 'close', host: open };
  const request = readRequestHead(bytes);
  // Before anybody is connected to: what cannot be written on is not begun.
  endToEndHeaders(request.headers);
  if (request.method === 'CONNECT' && connection.connect !== undefined) {
    leave(open);
    await connection.connect(connectTarget(request));
    return { step: 'given-away', host: undefined };
  }
  const asked = settled === undefined ? absoluteTarget(request) : originTarget(request, settled.target);
  const kept = settled ?? stillOpen(open, asked.target);
  const found = await hostFor({ client, session, deps, request }, asked.target, kept);
  if (found === undefined) return { step: 'close', host: undefined };
  return converse(connection, { request, asked, host: found, isReused: kept !== undefined });
}

/** The connection to the host of the last request, when this one is for the same. */
function stillOpen(open: OpenHost | undefined, { host, port }: Target): OpenHost | undefined {
  if (open === undefined) return undefined;
  if (open.target.host === host && open.target.port === port && !open.line.isGone) return open;
  leave(open);
  return undefined;
}

function leave(open: OpenHost | undefined): void {
  open?.line.destroy();
  open?.attempt.end();
}

interface Place extends Pick<HttpConnection, 'client' | 'session' | 'deps'> {
  readonly request: RequestHead;
}

/** Decides, and connects unless there is a connection. Undefined: it was refused, and the client knows. */
async function hostFor(
  { client, session, deps, request }: Place,
  target: Target,
  kept: OpenHost | undefined,
): Promise<OpenHost | undefined> {
  // A body may still be on its way.
  const refuseIt = (why: EgressDenial): void =>
    request.body.kind === 'none' ? client.dismiss(refusalResponse(why)) : refuse(client, why);
  const attempt = kept?.attempt ?? session.begin('http', target);
  if (attempt === undefined) {
    refuseIt(denial('egress.too_many_attempts', target));
    return undefined;
  }
  // SECURITY: T-22 — each request, also on a connection that is open: the one before was for something else.
  const verdict = await decideTarget(session, attempt, client);
  if (verdict.kind === 'allowed' && kept !== undefined) return kept;
  if (verdict.kind !== 'allowed') {
    const why = verdict.kind === 'denied' ? verdict.denial : denial('egress.cancelled', target);
    kept?.line.destroy();
    attempt.end({ kind: 'denied', denial: why });
    refuseIt(why);
    return undefined;
  }
  const gone = new AbortController();
  client.onClosed(() => gone.abort());
  const reached = await reachHost({ session, target, deps }, gone.signal);
  if (reached.kind !== 'reached') {
    attempt.end(reached);
    refuseIt(reached.denial);
    return undefined;
  }
  attempt.reached(reached.address);
  const line = createLine(reached.socket);
  client.onClosed(() => {
    line.destroy();
    attempt.end();
  });
  return { target, line, attempt };
}

interface Conversation {
  readonly request: RequestHead;
  readonly asked: RequestTarget;
  readonly host: OpenHost;
  readonly isReused: boolean;
}

async function converse(connection: HttpConnection, { request, asked, host, isReused }: Conversation): Promise<Served> {
  const { client, session, settled } = connection;
  try {
    const credentials = await credentialsFor(session, asked.target);
    if (credentials.length > 0) refuseEcho(request, asked.target);
    const end = await exchange({
      request,
      path: asked.path,
      target: asked.target,
      credentials,
      client,
      upstream: host.line,
      attempt: host.attempt,
      headMs: session.order.limits.headMs,
    });
    return afterwards(end, client, host);
  } catch (error) {
    // A host may close an idle connection at any time. What had no body can be said again on a new one.
    const isRepeatable = isReused && settled === undefined && request.body.kind === 'none' && !client.isGone;
    if (!(error instanceof NoAnswer) || !isRepeatable) return failed(error, client, host);
    leave(host);
    const again = await hostFor({ ...connection, request }, asked.target, undefined);
    if (again === undefined) return { step: 'close', host: undefined };
    return converse(connection, { request, asked, host: again, isReused: false });
  }
}

function afterwards(end: ExchangeEnd, client: Line, host: OpenHost): Served {
  if (end !== 'upgraded') return { step: end, host };
  joinLines(client, host.line, host.attempt);
  return { step: 'given-away', host };
}

function failed(error: unknown, client: Line, host: OpenHost): Served {
  const why = explainFailure(error, host.target);
  host.line.destroy();
  if (why === undefined) {
    host.attempt.end();
    client.destroy();
  } else {
    host.attempt.end({ kind: 'stopped', denial: why });
    refuse(client, why);
  }
  return { step: 'close', host: undefined };
}

async function credentialsFor(session: CallSession, target: Target): Promise<readonly (readonly [string, string])[]> {
  try {
    return await session.credential(target);
  } catch {
    // SECURITY: T-24 — not without it: the host would answer somebody else than was meant.
    throw new Stopped(denial('egress.denied', target, { detail: 'its credential is not to be had' }));
  }
}

/** SECURITY: T-24 — whoever is asked so says back what it was sent, and the tool would read its credential there. */
function refuseEcho({ method }: RequestHead, target: Target): void {
  if (!/^trac[ek]$/i.test(method)) return;
  const detail = 'which has a credential, and is not asked to say back what it was sent';
  throw new Stopped(denial('egress.unsupported', target, { detail, fix: `Ask it by another method than ${method}.` }));
}

function refuse(client: Line, why: EgressDenial | undefined): void {
  if (why === undefined) client.destroy();
  else client.finish(refusalResponse(why));
}

/** What a request that could not even be taken apart is answered with, and recorded as. */
function explain(error: unknown, session: CallSession, settled: Target | undefined): EgressDenial | undefined {
  const place = settled ?? { host: error instanceof BadTarget ? harmless(error.written) : '', port: 0 };
  const why = explainFailure(error, place);
  if (why !== undefined) session.begin('http', place)?.end({ kind: 'denied', denial: why });
  return why;
}

function explainFailure(error: unknown, target: Target): EgressDenial | undefined {
  if (error instanceof Stopped) return error.denial;
  if (error instanceof NoAnswer)
    return denial('egress.not_reached', target, error.message === '' ? {} : { detail: error.message });
  if (error instanceof TooSlow) return denial('egress.too_slow', target);
  if (error instanceof BadHead) return denial('egress.malformed_request', target, { detail: error.message });
  if (error instanceof OtherHost)
    return denial('egress.host_mismatch', target, { detail: `not ${harmless(error.named)}` });
  if (error instanceof BadTarget) return denial('egress.malformed_host', target);
  if (error instanceof CutShort) return undefined;
  throw error;
}
