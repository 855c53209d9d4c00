import { TLSSocket } from 'node:tls';
import type { Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import { createLine, type Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';
import { openTls } from './open-tls.ts';
import type { ReachDeps } from './reach-host.ts';
import { refusalResponse } from './refusal.ts';
import { serveHttp } from './serve-http.ts';

export interface Terminating {
  readonly client: Line;
  readonly upstream: Line;
  readonly session: CallSession;
  readonly deps: ReachDeps;
  readonly attempt: OpenAttempt;
}

/** TLS ends here and begins anew: requests can be read, each is held to the host, and credentials are put on. */
export async function terminateTls({ client, upstream, session, deps, attempt }: Terminating): Promise<void> {
  const target: Target = { ...attempt.target, scheme: 'https' };
  const secureContext = session.authority?.contextFor(target.host);
  if (secureContext === undefined) throw new Error('There is no authority for this call.');
  const inside = new TLSSocket(client.release(), {
    isServer: true,
    secureContext,
    ALPNProtocols: ['http/1.1'],
  });
  const line = createLine(inside);
  client.onClosed(() => inside.destroy());
  // Only the inner one sees what moves.
  client.onIdle(0, () => {});
  line.onIdle(session.order.limits.idleMs, () => inside.destroy());
  const outside = await openTls(upstream, target, {
    authorities: session.order.authorities,
    ms: session.order.limits.connectMs,
  });
  if (outside.kind === 'failed') {
    upstream.destroy();
    attempt.end(outside);
    line.finish(refusalResponse(outside.denial));
    return;
  }
  await serveHttp({ client: line, session, deps, settled: { target, line: outside.line, attempt } });
}
