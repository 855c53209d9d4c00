import { networkInterfaces } from 'node:os';
import {
  createPairedIssuer,
  DEADLINES,
  type DeviceKind,
  type HostProgress,
  type InvitationEnd,
  isOwnAddress,
  issueListenerCredential,
  type NewInvitation,
  openPairingListener,
  PairingError,
  type PairingListener,
  type PairingRequest,
  renderAddress,
  renderJoinUrl,
} from '@palyra/identity';
import { type Clock, reveal, secureRandomBytes } from '@palyra/primitives';
import type { ListenPlace } from '../listeners/listen-place.ts';
import type { DaemonIdentity } from '../open-identity.ts';

/** Invitations of palyrad, each with a listener of its own that is open as long as it is. */
export interface PairingHost {
  /** Throws `pairing.unreachable`, `pairing.invalid_name`. */
  invite(wanted: WantedPairing, hear: (heard: Heard) => void): Promise<HostedInvitation>;
  /** Throws `pairing.no_invitation` when nothing of this person waits for an answer under this id. */
  confirm(answer: { readonly invitation: string; readonly accept: boolean; readonly by: string }): void;
  /** How many are open. */
  readonly open: number;
  close(): Promise<void>;
}

export interface WantedPairing {
  readonly kind: DeviceKind;
  readonly name: string;
  /** Whose it shall be; the inviter's, or somebody's of its own, unless said. */
  readonly principal: string | undefined;
  /** The principal who invites. */
  readonly by: string;
}

export type Heard =
  | { readonly kind: 'progress'; readonly progress: HostProgress }
  | { readonly kind: 'candidate'; readonly request: PairingRequest };

export interface HostedInvitation {
  readonly id: string;
  readonly pin: string;
  readonly joinUrl: string;
  readonly address: string;
  readonly expiresAt: number;
  /** Never rejects. */
  readonly ended: Promise<InvitationEnd>;
  close(): Promise<void>;
}

export interface PairingHostDeps {
  readonly identity: Pick<DaemonIdentity, 'authority' | 'registry'>;
  readonly place: ListenPlace;
  readonly clock: Clock;
}

interface Asked {
  readonly by: string;
  answer(confirmed: 'confirmed' | 'refused'): void;
}

export function createPairingHost({ identity, place, clock }: PairingHostDeps): PairingHost {
  const open = new Set<PairingListener>();
  const asked = new Map<string, Asked>();

  const ask = (request: PairingRequest, by: string, signal: AbortSignal) =>
    new Promise<'confirmed' | 'refused'>((resolve) => {
      const answer: Asked['answer'] = (confirmed) => {
        asked.delete(request.invitation);
        resolve(confirmed);
      };
      asked.set(request.invitation, { by, answer });
      // SECURITY: T-34 — nobody who answers means no.
      signal.addEventListener('abort', () => answer('refused'), { once: true });
    });
  return {
    get open() {
      return open.size;
    },
    async invite({ kind, name, principal, by }, hear) {
      const host = reachable(place.host);
      const listener = await openPairingListener(
        {
          ...createPairedIssuer(identity, { by, principal, isOurs: (address) => isOwnAddress(address) }),
          caPem: identity.authority.bundle(),
          credential: await issueListenerCredential(identity.authority, host),
          confirm: (request, signal) => {
            hear({ kind: 'candidate', request });
            return ask(request, by, signal);
          },
          onProgress: (progress) => hear({ kind: 'progress', progress }),
          clock,
          randomBytes: secureRandomBytes,
          deadlines: DEADLINES,
        },
        place,
      );
      open.add(listener);
      const close = async () => {
        open.delete(listener);
        await listener.close();
      };
      try {
        const invitation = listener.invite({ kind, name });
        return { ...invitationOf(invitation, listener, host), close };
      } catch (error) {
        await close();
        throw error;
      }
    },
    confirm({ invitation, accept, by }) {
      const found = asked.get(invitation);
      // SECURITY: T-34 — whoever invited says yes or no, and nobody else who may invite.
      if (found === undefined || found.by !== by) throw noInvitation();
      found.answer(accept ? 'confirmed' : 'refused');
    },
    async close() {
      await Promise.all([...open].map((listener) => listener.close()));
      open.clear();
    },
  };
}

function invitationOf(
  invitation: NewInvitation,
  listener: PairingListener,
  host: string,
): Omit<HostedInvitation, 'close'> {
  const address = { host, port: listener.port };
  const target = { address, invitation: invitation.id, ca: listener.ca };
  return {
    id: invitation.id,
    pin: reveal(invitation.pin),
    joinUrl: renderJoinUrl(target, reveal(invitation.code)),
    address: renderAddress(address),
    expiresAt: invitation.expiresAt,
    ended: invitation.ended,
  };
}

const ALL_ADDRESSES: readonly string[] = ['0.0.0.0', '::'];

/** What is listened on, or the first address that others may reach. */
function reachable(host: string): string {
  if (!ALL_ADDRESSES.includes(host)) return host;
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const outside = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  return (outside.find(({ family }) => family === 'IPv4') ?? outside[0])?.address ?? '127.0.0.1';
}

function noInvitation(): PairingError {
  return new PairingError('pairing.no_invitation', 'No device waits for an answer under this invitation.', {
    fix: 'Invite it again: palyra device pair.',
  });
}
