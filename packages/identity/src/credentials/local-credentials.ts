import { join } from 'node:path';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { checkPrivateDirectory } from '../keys/private-files.ts';
import { type Credential, openCredential } from './credential.ts';

/** The two credentials that every home begins with, each in a directory of its own. */
export const LOCAL_CREDENTIALS = ['operator', 'local-agent'] as const;
export type LocalCredential = (typeof LOCAL_CREDENTIALS)[number];

export function credentialDirectory(identityDirectory: string, name: LocalCredential): string {
  return join(identityDirectory, name);
}

/** For the person at the keyboard. */
export function openOperatorCredential(identityDirectory: string): Credential {
  // SECURITY: T-40 — who can write the directory above puts another one in the place of this.
  checkPrivateDirectory(identityDirectory);
  return requireKind(openCredential(credentialDirectory(identityDirectory, 'operator')), 'operator');
}

/**
 * For whatever acts on an agent's behalf: hooks, `palyra wrap`, MCP over stdio.
 * SECURITY: T-40 — it opens one directory and knows of no other; what an agent starts never holds the operator's key, also
 * when somebody put that key in the agent's place.
 */
export function openAgentCredential(identityDirectory: string): Credential {
  return requireKind(openCredential(credentialDirectory(identityDirectory, 'local-agent')), 'agent');
}

export function requireKind<Kind extends DeviceKind, Of extends { readonly kind: DeviceKind }>(
  credential: Of,
  kind: Kind,
): Of & { readonly kind: Kind } {
  if (credential.kind === kind) return credential as Of & { readonly kind: Kind };
  throw new IdentityError(
    'identity.key_invalid',
    `The credential in the place of the ${kind} is one of another kind.`,
    {
      fix: 'Bring the identity directory back from a backup.',
    },
  );
}
