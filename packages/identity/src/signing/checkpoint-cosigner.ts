import { type DeviceId, parseId } from '@palyra/primitives';
import { IdentityError } from '../identity-error.ts';
import { type DeviceKey, rawEd25519Key } from '../keys/device-key.ts';
import type { Registry } from '../registry/open-registry.ts';

/** The `name` and `signer` of the journal's `createWitness`: that remembers what it saw, and cosigns only what continues it. */
export interface CheckpointCosigner {
  readonly name: string;
  readonly signer: {
    /** 32 bytes. */
    readonly publicKey: Uint8Array;
    sign(message: Uint8Array): Uint8Array;
  };
}

const PREFIX = 'palyra-device/';

/** Throws `identity.key_invalid` for a key that is not Ed25519: C2SP knows no other cosignatures. */
export function checkpointCosigner(device: DeviceId, key: DeviceKey): CheckpointCosigner {
  const publicKey = rawEd25519Key(key.publicKey);
  if (publicKey === undefined) {
    throw new IdentityError('identity.key_invalid', 'Only a device with an Ed25519 key can cosign checkpoints.', {
      fix: 'Pair a device whose key is Ed25519; the command line makes such keys.',
    });
  }
  return { name: `${PREFIX}${device}`, signer: { publicKey, sign: (message) => key.sign(message) } };
}

/** Whose a cosignature is, for whoever verifies a log: by the name and the key of its verifier key. */
export type FindCosigner = (witness: {
  readonly name: string;
  readonly publicKey: Uint8Array;
}) => Promise<{ readonly device: DeviceId; readonly principal: string; readonly isRevoked: boolean } | undefined>;

/** Undefined unless the registry knows this device by this key. What was cosigned before a revocation stays cosigned. */
export function createCosignerFinder(registry: Pick<Registry, 'find'>): FindCosigner {
  return async ({ name, publicKey }) => {
    const id = deviceIn(name);
    const device = id === undefined ? undefined : await registry.find(id);
    const known = device === undefined ? undefined : rawEd25519Key(device.publicKey);
    if (device === undefined || known === undefined || !Buffer.from(known).equals(publicKey)) return undefined;
    return { device: device.id, principal: device.principal, isRevoked: device.revoked !== null };
  };
}

function deviceIn(name: string): DeviceId | undefined {
  if (!name.startsWith(PREFIX)) return undefined;
  try {
    return parseId('device', name.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}
