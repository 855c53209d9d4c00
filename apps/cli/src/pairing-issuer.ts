import { networkInterfaces } from 'node:os';
import type { DeviceKind, FindDevice, IssuePairedCertificate } from '@palyra/identity';
import { parseId, type Sha256Hex } from '@palyra/primitives';
import type { CommandContext } from './command.ts';
import { type OperatorContext, openAsOperator } from './identity-home.ts';

/** What `palyra device pair` needs of the home's certificate authority and registry. */
export interface PairingIssuer {
  /** The CA's certificates, the one that signs first. */
  readonly caPem: string;
  readonly issue: IssuePairedCertificate;
  readonly findDevice: FindDevice;
  close(): Promise<void>;
}

export type OpenPairingIssuer = (context: CommandContext) => Promise<PairingIssuer>;

/** The one place where pairing meets the certificate authority. Throws `identity.not_permitted` and what opening throws. */
export const openPairingIssuer: OpenPairingIssuer = async (context) => {
  const { home, registry, identity, operator, close } = await openAsOperator(context, 'admin');
  try {
    const authority = identity.openAuthority(home.identity);
    const deps = { authority, registry };
    const by = operator.principal;
    return {
      caPem: authority.bundle(),
      async issue({ csrDer, kind, name, address, device }) {
        const known = device === undefined ? undefined : parseId('device', device);
        const found = known === undefined ? undefined : await registry.find(known);
        // It comes back with the key it has: that is a renewal, and nothing else about it changes.
        if (found !== undefined && found.keyDigest === identity.keyDigestOfRequest(csrDer)) {
          return identity.renewDevice({ device: found.id, csrDer, by }, deps);
        }
        const terms = {
          by,
          principalFor: () => principalOf(kind, name, operator),
          place: isOurs(address) ? 'same_host' : 'separate_device',
          ...(known === undefined ? {} : { replaces: known }),
        } as const;
        return identity.issueDeviceCertificate(deps, terms)({ csrDer, kind, name });
      },
      async findDevice(device) {
        const found = await registry.find(parseId('device', device));
        return found === undefined ? undefined : { key: found.keyDigest as Sha256Hex };
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

/** An operator's further device is the operator's; anything else is somebody of its own, named as it was invited. */
function principalOf(kind: DeviceKind, name: string, operator: OperatorContext['operator']): string {
  if (kind === 'operator') return operator.principal;
  const written = name
    .normalize('NFKD')
    .replaceAll(/[^A-Za-z0-9._@-]+/g, '-')
    .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '');
  return `${PREFIXES[kind]}:${written === '' ? 'device' : written}`;
}

/** SECURITY: T-06 — what answers from this very host proves no second device. */
function isOurs(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  if (plain === '::1' || plain.startsWith('127.')) return true;
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return own.some((each) => each.address === plain);
}
