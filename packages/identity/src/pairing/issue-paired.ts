import { parseId, type Sha256Hex, sha256Hex } from '@palyra/primitives';
import type { DeviceKind } from '../device-kind.ts';
import { type IssueDeps, issueDeviceCertificate } from '../registry/issue-device-certificate.ts';
import { renewDevice } from '../renewal/renew-device.ts';
import type { FindDevice, IssuePairedCertificate } from './certify-device.ts';
import { keyDigestOfRequest } from './request-key.ts';

/** What a pairing listener needs of the certificate authority and the registry. */
export interface PairedIssuer {
  readonly issue: IssuePairedCertificate;
  readonly findDevice: FindDevice;
  /** Whose device it will be. */
  principalOf(request: { readonly kind: DeviceKind; readonly name: string }): string;
}

export interface PairingTerms {
  /** The principal who invites. */
  readonly by: string;
  /** Whose it shall be, if that was said. */
  readonly principal?: string | undefined;
  /** Whether an address is one of this very host. */
  isOurs(address: string): boolean;
}

export function createPairedIssuer(deps: IssueDeps, { by, principal, isOurs }: PairingTerms): PairedIssuer {
  const { registry } = deps;
  const ownerOf: PairedIssuer['principalOf'] = (request) => principal ?? pairedPrincipal(request, by);
  return {
    principalOf: ownerOf,
    async issue({ csrDer, kind, name, address, device }) {
      const known = device === undefined ? undefined : parseId('device', device);
      const found = known === undefined ? undefined : await registry.find(known);
      // It comes back with the key it has: that is a renewal, and nothing else about it changes.
      if (found !== undefined && found.keyDigest === keyDigestOfRequest(csrDer)) {
        return renewDevice({ device: found.id, csrDer, by }, deps);
      }
      const terms = {
        by,
        principalFor: () => ownerOf({ kind, name }),
        // SECURITY: T-06 — what answers from this very host proves no second device.
        place: isOurs(address) ? 'same_host' : 'separate_device',
        ...(known === undefined ? {} : { replaces: known }),
      } as const;
      return issueDeviceCertificate(deps, terms)({ csrDer, kind, name });
    },
    async findDevice(device) {
      const found = await registry.find(parseId('device', device));
      // One that was revoked is nobody any more: it comes as a new device, with a new key.
      if (found === undefined || found.revoked !== null) return undefined;
      return { key: found.keyDigest as Sha256Hex, kind: found.kind };
    },
  };
}

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
export function pairedPrincipal(
  { kind, name }: { readonly kind: DeviceKind; readonly name: string },
  operator: string,
): string {
  if (kind === 'operator') return operator;
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
