import type { Socket } from 'node:net';
import { denial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import { CutShort } from './http-body.ts';
import { createLine, type Line } from './line.ts';
import type { ReachDeps } from './reach-host.ts';
import { refusalResponse } from './refusal.ts';
import { type Doors, saysDoorWord } from './serve-door.ts';
import { serveHttp } from './serve-http.ts';
import { serveSocks5 } from './serve-socks5.ts';
import { serveTunnel } from './serve-tunnel.ts';

export interface ConnectionDeps extends ReachDeps {
  /** Absent: nobody is put through to palyrad itself. */
  readonly doors?: Pick<Doors, 'serve'>;
  /** A connection ended by a fault of ours. */
  onFault(error: unknown): void;
}

const SOCKS5 = 5;

/** One connection of a tool, from its first byte to its end. Never throws. */
export async function serveConnection(socket: Socket, session: CallSession, deps: ConnectionDeps): Promise<void> {
  const client = createLine(socket);
  if (!session.enter(client)) {
    const nowhere = { host: '*', port: 0 };
    const why = denial('egress.too_many_connections', nowhere);
    session.begin('unknown', nowhere)?.end({ kind: 'denied', denial: why });
    client.finish(refusalResponse(why));
    return;
  }
  const { idleMs, connectionMs } = session.order.limits;
  client.onIdle(idleMs, () => {
    if (!session.isHeld(client)) client.destroy();
  });
  const timer = setTimeout(() => client.destroy(), connectionMs);
  client.onClosed(() => clearTimeout(timer));
  try {
    await serveProtocol(client, session, deps);
  } catch (error) {
    client.destroy();
    if (!(error instanceof CutShort)) deps.onFault(error);
  }
}

async function serveProtocol(client: Line, session: CallSession, deps: ConnectionDeps): Promise<void> {
  // SECURITY: T-22, T-36 — only of a call that has one: which call it is, its listener says, and nothing that is sent.
  if (session.order.hasDoor && deps.doors !== undefined && (await saysDoorWord(client))) {
    // A hook waits for a human as long as the human takes.
    session.hold(client);
    deps.doors.serve(client, session.order.label);
    return;
  }
  const first = await client.read();
  if (first === undefined) {
    client.destroy();
    return;
  }
  client.unread(first);
  if (first[0] === SOCKS5) await serveSocks5({ client, session, deps });
  else await serveHttp({ client, session, deps, connect: (target) => serveConnect(client, session, { target, deps }) });
}

interface Connecting {
  readonly target: Target;
  readonly deps: ReachDeps;
}

async function serveConnect(client: Line, session: CallSession, { target, deps }: Connecting): Promise<void> {
  const attempt = session.begin('connect', target);
  if (attempt === undefined) {
    client.dismiss(refusalResponse(denial('egress.too_many_attempts', target)));
    return;
  }
  await serveTunnel({
    client,
    session,
    deps,
    attempt,
    accept: () => void client.write('HTTP/1.1 200 Connection established\r\n\r\n'),
    refuse: (why) => client.dismiss(refusalResponse(why)),
  });
}
