import { denial, type EgressDenial } from '../denial.ts';
import { canonicalHost, isMalformed } from '../hosts/canonical-host.ts';
import { covers } from '../hosts/host-rule.ts';
import type { Scheme, Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import { decideTarget } from './decide-target.ts';
import { followHello } from './follow-hello.ts';
import { type Hello, inspectTunnel, type TunnelStart } from './inspect-tunnel.ts';
import { endTogether, flowDown, flowUp } from './join-lines.ts';
import { createLine, type Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { type ReachDeps, reachHost } from './reach-host.ts';
import { serveHttp } from './serve-http.ts';
import { terminateTls } from './terminate-tls.ts';

export interface Tunnel {
  readonly client: Line;
  readonly session: CallSession;
  readonly deps: ReachDeps;
  readonly attempt: OpenAttempt;
  /** Tells the client that it is through. */
  accept(): void;
  refuse(why: EgressDenial): void;
}

/** CONNECT, of HTTP and of SOCKS: decides, connects, looks at the first bytes, and then only counts. */
export async function serveTunnel(tunnel: Tunnel): Promise<void> {
  const { client, session, deps, attempt } = tunnel;
  const { target } = attempt;
  const verdict = await decideTarget(session, attempt, client);
  if (verdict.kind !== 'allowed') {
    const why = verdict.kind === 'denied' ? verdict.denial : denial('egress.cancelled', target);
    attempt.end({ kind: 'denied', denial: why });
    tunnel.refuse(why);
    return;
  }
  const gone = new AbortController();
  client.onClosed(() => gone.abort());
  const reached = await reachHost({ session, target, deps }, gone.signal);
  if (reached.kind !== 'reached') {
    attempt.end(reached);
    tunnel.refuse(reached.denial);
    return;
  }
  attempt.reached(reached.address);
  const upstream = createLine(reached.socket);
  client.onClosed(() => upstream.destroy());
  tunnel.accept();
  await begin(tunnel, upstream, verdict.schemes);
}

async function begin(tunnel: Tunnel, upstream: Line, schemes: 'any' | readonly Scheme[]): Promise<void> {
  const { client, session, attempt } = tunnel;
  const inspecting = inspectTunnel(client, session.order.limits.headMs);
  const hostFirst = upstream.read().then((bytes) => {
    if (bytes !== undefined) upstream.unread(bytes);
    return 'host' as const;
  });
  const first = await Promise.race([inspecting, hostFirst]);
  // Some protocols begin with the host's words. They go on while we wait for the client's.
  if (first === 'host') flowDown(upstream, client, attempt);
  const start = first === 'host' ? await inspecting : first;
  const why = objectionTo(start, { session, target: attempt.target, schemes, hasBegun: first === 'host' });
  if (start.kind === 'tls' && start.hello.serverName !== undefined) attempt.named(start.hello.serverName);
  if (why !== undefined) {
    cut({ client, upstream, attempt }, start, why);
    return;
  }
  if ('bytes' in start) client.unread(start.bytes);
  await carryOn(tunnel, upstream, { start, isFlowing: first === 'host' });
}

interface Opening {
  readonly session: CallSession;
  readonly target: Target;
  readonly schemes: 'any' | readonly Scheme[];
  /** The host has spoken first: it is too late to read along. */
  readonly hasBegun: boolean;
}

function objectionTo(start: TunnelStart, { session, target, schemes, hasBegun }: Opening): EgressDenial | undefined {
  switch (start.kind) {
    case 'silent':
      return undefined;
    case 'malformed':
      return denial('egress.malformed_request', target);
    case 'too-slow':
      return denial('egress.too_slow', target);
    case 'other':
      return schemes === 'any' ? undefined : wrongScheme(target, schemes);
    case 'http':
      if (schemes !== 'any' && !schemes.includes('http')) return wrongScheme(target, schemes);
      return (hasBegun || start.version === 'old') && isReadAlong(session)
        ? denial('egress.malformed_request', target)
        : undefined;
    case 'tls':
      if (schemes !== 'any' && !schemes.includes('https')) return wrongScheme(target, schemes);
      return session.order.mode === 'none' ? undefined : objectToHello(start.hello, session, target);
  }
}

/** SECURITY: T-51 — the handshake has to name the host that was allowed, openly: many live behind one address. */
function objectToHello(
  { serverName, isEncrypted }: Hello,
  session: CallSession,
  target: Target,
): EgressDenial | undefined {
  if (isEncrypted && session.order.encryptedHello === 'refuse') return denial('egress.ech_refused', target);
  const isName = canonicalHost(target.host);
  if (serverName === undefined) {
    // An address cannot be named in a handshake.
    return !isMalformed(isName) && isName.kind === 'name' ? denial('egress.sni_missing', target) : undefined;
  }
  const named = canonicalHost(serverName);
  return !isMalformed(named) && named.host === target.host ? undefined : denial('egress.sni_mismatch', target);
}

function wrongScheme(target: Target, schemes: readonly Scheme[]): EgressDenial {
  return denial('egress.scheme_not_allowed', target, { missing: `another protocol than ${schemes.join(', ')}` });
}

/** Without rules and credentials nobody would do anything with what was read. */
function isReadAlong({ order }: CallSession): boolean {
  return order.mode === 'strict' || order.hasCredentials;
}

interface CarryingOn {
  readonly start: TunnelStart;
  readonly isFlowing: boolean;
}

async function carryOn(tunnel: Tunnel, upstream: Line, { start, isFlowing }: CarryingOn): Promise<void> {
  const { client, session, deps, attempt } = tunnel;
  const { target } = attempt;
  if (start.kind === 'http' && isReadAlong(session) && !isFlowing) {
    const settled = { target: { ...target, scheme: 'http' as const }, line: upstream, attempt };
    await serveHttp({ client, session, deps, settled });
    return;
  }
  const isEnded = session.authority !== undefined && session.order.terminate.some((rule) => covers(rule, target));
  if (start.kind === 'tls' && isEnded && !isFlowing) {
    await terminateTls({ client, upstream, session, deps, attempt });
    return;
  }
  if (start.kind === 'tls' && session.order.mode === 'strict' && !isFlowing) {
    const objection = (hello: Hello): EgressDenial | undefined => objectToHello(hello, session, target);
    const followed = await followHello({ client, upstream, attempt, hello: start.hello, objection });
    if (followed.kind === 'stopped') {
      cut({ client, upstream, attempt }, start, followed.denial);
      return;
    }
    if (!followed.isFlowing) flowDown(upstream, client, attempt);
  } else if (!isFlowing) {
    flowDown(upstream, client, attempt);
  }
  flowUp(client, upstream, attempt);
  endTogether(client, upstream, attempt);
}

/** A TLS client is told in its own language; everybody else is cut off. */
const UNRECOGNIZED_NAME = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70]);

function cut(
  { client, upstream, attempt }: { readonly client: Line; readonly upstream: Line; readonly attempt: OpenAttempt },
  start: TunnelStart,
  why: EgressDenial,
): void {
  attempt.end({ kind: 'denied', denial: why });
  upstream.destroy();
  if (start.kind === 'tls') client.finish(UNRECOGNIZED_NAME);
  else client.finish();
}
