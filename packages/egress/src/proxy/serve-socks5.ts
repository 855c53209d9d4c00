import { denial, type EgressDenial } from '../denial.ts';
import { canonicalHost, isMalformed } from '../hosts/canonical-host.ts';
import type { Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import { CutShort } from './http-body.ts';
import type { Line } from './line.ts';
import type { ReachDeps } from './reach-host.ts';
import { harmless } from './request-target.ts';
import { serveTunnel } from './serve-tunnel.ts';

export interface SocksConnection {
  readonly client: Line;
  readonly session: CallSession;
  readonly deps: ReachDeps;
}

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** RFC 1928 as far as it is of use here: no authentication, CONNECT only. */
export async function serveSocks5({ client, session, deps }: SocksConnection): Promise<void> {
  const timer = setTimeout(() => client.destroy(), session.order.limits.headMs);
  let asked: SocksRequest;
  try {
    if (!(await agreeOnMethod(client))) return;
    asked = await readRequest(client);
  } finally {
    clearTimeout(timer);
  }
  const { command, target } = asked;
  const attempt = session.begin('socks5', target);
  if (attempt === undefined) {
    client.dismiss(reply(denial('egress.too_many_attempts', target)));
    return;
  }
  const why = asked.why ?? (command === CONNECT ? undefined : denial('egress.unsupported', target));
  if (why !== undefined) {
    attempt.end({ kind: 'denied', denial: why });
    client.dismiss(reply(why));
    return;
  }
  await serveTunnel({
    client,
    session,
    deps,
    attempt,
    accept: () => void client.write(replyOf(0)),
    refuse: (denied) => client.dismiss(reply(denied)),
  });
}

async function agreeOnMethod(client: Line): Promise<boolean> {
  const [version, count = 0] = await take(client, 2);
  if (version !== VERSION || count === 0) {
    client.destroy();
    return false;
  }
  const methods = await take(client, count);
  if (!methods.includes(NO_AUTHENTICATION)) {
    client.finish(Buffer.from([VERSION, 0xff]));
    return false;
  }
  void client.write(Buffer.from([VERSION, NO_AUTHENTICATION]));
  return true;
}

interface SocksRequest {
  readonly command: number;
  readonly target: Target;
  readonly why?: EgressDenial;
}

async function readRequest(client: Line): Promise<SocksRequest> {
  const [version, command = 0, reserved, type = 0] = await take(client, 4);
  if (version !== VERSION || reserved !== 0) throw new CutShort();
  const written = await readAddress(client, type);
  const port = written === undefined ? 0 : (await take(client, 2)).readUInt16BE(0);
  if (written === undefined) {
    const nowhere = { host: '', port: 0 };
    return { command, target: nowhere, why: denial('egress.unsupported', nowhere) };
  }
  // SECURITY: T-21, T-22 — an address that is sent as a name is an address, and needs a rule for it.
  const host = canonicalHost(written);
  if (isMalformed(host) || port === 0) {
    const place = { host: harmless(written), port };
    return { command, target: place, why: denial('egress.malformed_host', place) };
  }
  return { command, target: { host: host.host, port } };
}

async function readAddress(client: Line, type: number): Promise<string | undefined> {
  if (type === IPV4) return (await take(client, 4)).join('.');
  if (type === IPV6) return ipv6Text(await take(client, 16));
  if (type !== NAME) return undefined;
  const [length = 0] = await take(client, 1);
  return (await take(client, length)).toString('latin1');
}

function ipv6Text(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_group, index) => bytes.readUInt16BE(index * 2).toString(16)).join(':');
}

async function take(client: Line, count: number): Promise<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  while (bytes.length < count) {
    const more = await client.read();
    if (more === undefined) throw new CutShort();
    bytes = bytes.length === 0 ? more : Buffer.concat([bytes, more]);
  }
  client.unread(bytes.subarray(count));
  return bytes.subarray(0, count);
}

const NOT_ALLOWED = 2;
const REPLIES: Readonly<Record<string, number>> = {
  'egress.not_resolved': 4,
  'egress.not_reached': 5,
  'egress.too_slow': 6,
  'egress.unsupported': 7,
  'egress.malformed_host': 8,
};

function reply({ code }: EgressDenial): Buffer {
  return replyOf(REPLIES[code] ?? NOT_ALLOWED);
}

/** Where we are connected from is nobody's business. */
function replyOf(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}
