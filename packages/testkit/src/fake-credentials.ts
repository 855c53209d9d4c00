import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { Assurance, Decider, VerifiedSigner, VerifySignature } from '@palyra/approvals';

export interface FakeCredentialOptions {
  readonly person: string;
  readonly device?: string | null;
  readonly kind?: VerifiedSigner['kind'];
  readonly assurance?: Assurance;
}

/** Credentials with real keys, and the registry that knows whose they are. */
export interface FakeCredentials {
  /** A key made from the name, so that the same name has the same key in every process. */
  issue(credential: string, options: FakeCredentialOptions): Decider;
  readonly verify: VerifySignature;
  /** Its signatures count for nothing from now on. */
  revoke(credential: string): void;
}

export function createFakeCredentials(): FakeCredentials {
  const known = new Map<string, { readonly publicKey: KeyObject; readonly signer: VerifiedSigner }>();
  return {
    issue(credential, { person, device = null, kind = 'human', assurance = 'same_host_key' }) {
      const privateKey = keyOf(credential);
      known.set(credential, { publicKey: createPublicKey(privateKey), signer: { person, device, kind, assurance } });
      const signWith = (message: Uint8Array) => new Uint8Array(sign(null, message, privateKey));
      return { credential, person, device, assurance, sign: signWith };
    },
    async verify({ credential, message, signature }) {
      const found = known.get(credential);
      return found !== undefined && verify(null, message, found.publicKey, signature) ? found.signer : undefined;
    },
    revoke: (credential) => void known.delete(credential),
  };
}

/** What stands before the 32 bytes of an Ed25519 key in PKCS #8. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

function keyOf(name: string): KeyObject {
  const seed = createHash('sha256').update(`palyra fake credential ${name}`).digest();
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}
