import { duplexPair } from 'node:stream';
import {
  type ConfirmPairing,
  DEADLINES,
  type FindDevice,
  type HostProgress,
  type InvitationTerms,
  type IssuePairedCertificate,
  type JoinedDevice,
  type JoinInput,
  joinDevice,
  makeRequest,
  type NewInvitation,
  openPairingListener,
  type PairingListener,
} from '@palyra/identity';
import { type Clock, type RandomBytes, reveal, Secret, secureRandomBytes, systemClock } from '@palyra/primitives';
import { createBackOff } from '../../packages/identity/src/pairing/back-off.ts';
import { type HostDeps, hostPairing } from '../../packages/identity/src/pairing/host-pairing.ts';
import { createInvitationBook, type InvitationBook } from '../../packages/identity/src/pairing/invitations.ts';
import { type JoinDeps, joinPairing } from '../../packages/identity/src/pairing/join-pairing.ts';
import type { PairingConnection } from '../../packages/identity/src/pairing/open-run.ts';
import { createThrowawayCa, type ThrowawayCa } from './throwaway-ca.ts';

export interface HouseOptions {
  readonly clock?: Clock;
  readonly deviceClock?: Clock;
  readonly confirm?: ConfirmPairing;
  readonly findDevice?: FindDevice;
  readonly handshakeMs?: number;
  readonly issue?: IssuePairedCertificate;
  readonly randomBytes?: RandomBytes;
}

/** Both sides of a pairing, with a CA that is real and a wire that is in the test's hands. */
export interface House {
  readonly ca: ThrowawayCa;
  readonly progress: HostProgress[];
  readonly host: HostDeps;
  readonly book: InvitationBook;
  readonly joinDeps: JoinDeps;
  readonly joinEvents: string[];
  invite(terms?: Partial<InvitationTerms>): NewInvitation;
  /** How often our share went out. */
  tries(): number;
}

export const EXPORTER: Uint8Array = Buffer.alloc(32, 7);

export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const { clock = systemClock, deviceClock = clock, randomBytes = secureRandomBytes } = options;
  const ca = await createThrowawayCa(clock.now);
  const progress: HostProgress[] = [];
  const joinEvents: string[] = [];
  const deadlines = {
    ...DEADLINES,
    ...(options.handshakeMs === undefined ? {} : { handshakeMs: options.handshakeMs }),
  };
  const book = createInvitationBook({ clock, randomBytes });
  const host: HostDeps = {
    clock,
    randomBytes,
    deadlines,
    book,
    backOff: createBackOff(clock.now),
    ca: ca.ca,
    issue: options.issue ?? ca.issue,
    findDevice: options.findDevice ?? (async () => undefined),
    confirm: options.confirm ?? (async () => 'confirmed'),
    onProgress: (event) => void progress.push(event),
  };
  return {
    ca,
    progress,
    host,
    book,
    joinEvents,
    joinDeps: {
      clock: deviceClock,
      randomBytes: secureRandomBytes,
      deadlines,
      makeRequest,
      onProgress: ({ kind }) => void joinEvents.push(kind),
    },
    invite: (terms = {}) => book.invite({ kind: 'agent', name: 'runner', ...terms }),
    tries: () => progress.filter(({ kind }) => kind === 'trying').length,
  };
}

export interface Wire {
  readonly device: PairingConnection;
  /** Ends when the host is done with the connection. */
  readonly hosted: Promise<void>;
}

/** A connection without TLS, as if there had been one: both ends know the same exporter unless told. */
export function connectInMemory(
  house: House,
  { peer = '192.0.2.1', exporter = EXPORTER }: { readonly peer?: string; readonly exporter?: Uint8Array } = {},
): Wire {
  const [device, host] = duplexPair();
  const hosted = hostPairing({ stream: host, exporter: EXPORTER, peer }, house.host);
  return { device: { stream: device, exporter, peer: 'host' }, hosted };
}

export function inputOf(pin: string, over: Partial<JoinInput> = {}): JoinInput {
  return { means: 'pin', secret: new Secret(pin), name: 'laptop', ...over };
}

export async function joinInMemory(house: House, input: JoinInput, peer?: string): Promise<JoinedDevice> {
  const { device, hosted } = connectInMemory(house, peer === undefined ? {} : { peer });
  try {
    return await joinPairing(device, input, house.joinDeps);
  } finally {
    device.stream.destroy();
    await hosted;
  }
}

/** A PIN that is not the one. */
export function wrongPin(invitation: NewInvitation, offset = 1): string {
  return String((Number(reveal(invitation.pin)) + offset) % 10 ** 8).padStart(8, '0');
}

/** The same behind TLS on the loopback interface. */
export async function openTlsHouse(
  options: HouseOptions = {},
): Promise<House & { readonly listener: PairingListener }> {
  const house = await openHouse(options);
  const credential = await house.ca.listenerCredential();
  const deps = { ...house.host, caPem: house.ca.caPem, credential };
  const listener = await openPairingListener(deps, { host: '127.0.0.1', port: 0 });
  return { ...house, listener, invite: (terms = {}) => listener.invite({ kind: 'agent', name: 'runner', ...terms }) };
}

export function joinOverTls(house: House & { readonly listener: PairingListener }, input: JoinInput, port?: number) {
  return joinDevice({ host: '127.0.0.1', port: port ?? house.listener.port }, input, house.joinDeps);
}

/** The code that a promise was refused with. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing went wrong',
    (thrown: unknown) => String(Object(thrown).code),
  );
}
