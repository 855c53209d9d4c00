import { networkInterfaces } from 'node:os';
import type { DeviceKind, FindDevice, IssuePairedCertificate, ListenerCredential } from '@palyra/identity';
import { parseId, type Sha256Hex, sha256Hex } from '@palyra/primitives';
import type { CommandContext } from './command.ts';
import { type OperatorContext, openAsOperator } from './identity-home.ts';

/** What `palyra device pair` needs of the home's certificate authority and registry. */
export interface PairingIssuer {
  /** The CA's certificates, the one that signs first. */
  readonly caPem: string;
  readonly issue: IssuePairedCertificate;
  readonly findDevice: FindDevice;
  /** For the listener at this address. */
  listenerCredential(address: string): Promise<ListenerCredential>;
  /** Whose device it will be. */
  principalOf(request: { readonly kind: DeviceKind; readonly name: string }): string;
  close(): Promise<void>;
}

export type OpenPairingIssuer = (context: CommandContext, principal: string | undefined) => Promise<PairingIssuer>;

/** The one place where pairing meets the certificate authority. Throws `identity.not_permitted` and what opening throws. */
export const openPairingIssuer: OpenPairingIssuer = async (context, principal) => {
  const { home, registry, identity, operator, close } = await openAsOperator(context, 'admin');
  try {
    const authority = identity.openAuthority(home.identity);
    const deps = { authority, registry };
    const by = operator.principal;
    const ownerOf: PairingIssuer['principalOf'] = (request) => principal ?? principalOf(request, operator);
    return {
      caPem: authority.bundle(),
      principalOf: ownerOf,
      listenerCredential: (address) => identity.issueListenerCredential(authority, address),
      async issue({ csrDer, kind, name, address, device }) {
        const known = device === undefined ? undefined : parseId('device', device);
        const found = known === undefined ? undefined : await registry.find(known);
        // It comes back with the key it has: that is a renewal, and nothing else about it changes.
        if (found !== undefined && found.keyDigest === identity.keyDigestOfRequest(csrDer)) {
          return identity.renewDevice({ device: found.id, csrDer, by }, deps);
        }
        const terms = {
          by,
          principalFor: () => ownerOf({ kind, name }),
          place: isOurs(address, networkInterfaces()) ? 'same_host' : 'separate_device',
          ...(known === undefined ? {} : { replaces: known }),
        } as const;
        return identity.issueDeviceCertificate(deps, terms)({ csrDer, kind, name });
      },
      async findDevice(device) {
        const found = await registry.find(parseId('device', device));
        // One that was revoked is nobody any more: it comes as a new device, with a new key.
        if (found === undefined || found.revoked !== null) return undefined;
        return { key: found.keyDigest as Sha256Hex, kind: found.kind };
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
};

const PREFIXES: Readonly<Record<Exclude<DeviceKind, 'operator'>, string>> = {
  agent: 'agent',
  node: 'service',
  service: 'service',
};

const MOST_CHARACTERS = 63;
const MARK_CHARACTERS = 8;

/**
 * An operator's further device is the operator's; anything else is somebody of its own, named as it was invited.
 * SECURITY: T-41 — a name that a principal cannot spell gets a mark of its own: two of them must not be one principal, and
 * share what policies and grants say of it.
 */
export function principalOf(
  { kind, name }: { readonly kind: DeviceKind; readonly name: string },
  operator: Pick<OperatorContext['operator'], 'principal'>,
): string {
  if (kind === 'operator') return operator.principal;
  const written = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9._@-]+/g, '-')
    .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '');
  const isWhole = /^[A-Za-z0-9][A-Za-z0-9._@ -]*$/.test(name) && written.length <= MOST_CHARACTERS;
  if (isWhole) return `${PREFIXES[kind]}:${written}`;
  const start = (written === '' ? 'device' : written).slice(0, MOST_CHARACTERS - MARK_CHARACTERS - 1);
  return `${PREFIXES[kind]}:${start}-${sha256Hex(Buffer.from(name)).slice(0, MARK_CHARACTERS)}`;
}

/**
 * SECURITY: T-06 — what answers from this very host proves no second device, also over its link-local address, which comes
 * with the name of an interface.
 */
export function isOurs(address: string, interfaces: ReturnType<typeof networkInterfaces>): boolean {
  const [plain = ''] = address.replace(/^::ffff:(?=\d+\.)/i, '').split('%');
  if (plain === '::1' || plain.startsWith('127.')) return true;
  const own = Object.values(interfaces).flatMap((each) => each ?? []);
  return own.some((each) => each.address === plain);
}
