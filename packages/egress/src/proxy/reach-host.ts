import { connect, isIP, type Socket } from 'node:net';
import { classifyAddress } from '../addresses/classify-address.ts';
import { denial, denyAddress, type EgressDenial } from '../denial.ts';
import type { Target } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import type { ResolveName } from './resolve-name.ts';

export type Reached =
  | { readonly kind: 'reached'; readonly socket: Socket; readonly address: string }
  | { readonly kind: 'denied' | 'failed'; readonly denial: EgressDenial };

export interface ReachDeps {
  readonly resolve: ResolveName;
  /** Addresses of this machine: they are nobody's business, also when they are public. */
  isOwnAddress(address: string): boolean;
}

/** Resolves, checks every address, and connects to one of those that were checked. The target was allowed before. */
export async function reachHost(
  { session, target, deps }: { readonly session: CallSession; readonly target: Target; readonly deps: ReachDeps },
  gone: AbortSignal,
): Promise<Reached> {
  const signal = AbortSignal.any([gone, AbortSignal.timeout(session.order.limits.connectMs)]);
  const addresses = await addressesOf(target, { session, deps, signal });
  if (!Array.isArray(addresses)) return { kind: 'failed', denial: addresses as EgressDenial };

  const refused = addresses.find((address) => !isAllowed(address, { session, target, deps }));
  // SECURITY: T-23 — one bad address among good ones is enough: which one is taken would be up to whoever answered.
  if (refused !== undefined) return { kind: 'denied', denial: denyAddress(target, kindOf(refused, deps)) };

  for (const address of addresses) {
    const socket = await connectTo(address, target.port, signal);
    if (socket !== undefined) return { kind: 'reached', socket, address };
    if (signal.aborted) break;
  }
  return {
    kind: 'failed',
    denial: denial(signal.aborted && !gone.aborted ? 'egress.too_slow' : 'egress.not_reached', target),
  };
}

interface Resolving {
  readonly session: CallSession;
  readonly deps: ReachDeps;
  readonly signal: AbortSignal;
}

async function addressesOf(
  target: Target,
  { session, deps, signal }: Resolving,
): Promise<readonly string[] | EgressDenial> {
  if (isIP(target.host) !== 0) return [target.host];
  const pinned = Object.hasOwn(session.order.pinned, target.host) ? session.order.pinned[target.host] : undefined;
  if (pinned !== undefined) return pinned;
  try {
    const addresses = await Promise.race([deps.resolve(target.host, signal), aborted(signal)]);
    return addresses.length > 0 ? addresses : denial('egress.not_resolved', target);
  } catch {
    return denial(signal.aborted ? 'egress.too_slow' : 'egress.not_resolved', target);
  }
}

interface Checking {
  readonly session: CallSession;
  readonly target: Target;
  readonly deps: ReachDeps;
}

function isAllowed(address: string, { session, target, deps }: Checking): boolean {
  if (session.ranges.allows(address, target.port)) return true;
  return classifyAddress(address) === 'public' && !deps.isOwnAddress(address);
}

function kindOf(address: string, deps: ReachDeps): ReturnType<typeof classifyAddress> {
  const kind = classifyAddress(address);
  return kind === 'public' && deps.isOwnAddress(address) ? 'loopback' : kind;
}

/** SECURITY: T-23 — to the address, not to the name: nobody is asked a second time, so no second answer counts. */
function connectTo(address: string, port: number, signal: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(undefined);
      return;
    }
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, autoSelectFamily: false });
    const fail = (): void => {
      socket.destroy();
      done(undefined);
    };
    const succeed = (): void => done(socket);
    const done = (result: Socket | undefined): void => {
      signal.removeEventListener('abort', fail);
      socket.off('error', fail);
      socket.off('connect', succeed);
      // What goes wrong from here on shows as its end.
      socket.on('error', () => {});
      resolve(result);
    };
    signal.addEventListener('abort', fail, { once: true });
    socket.once('error', fail);
    socket.once('connect', succeed);
  });
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}
