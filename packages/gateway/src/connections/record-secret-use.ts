import type { Journal } from '@palyra/journal';
import { idsOf } from '../tool-call/call-ledger.ts';
import type { CredentialedCall } from './bound-credentials.ts';

export interface SecretUse {
  readonly call: CredentialedCall;
  /** Its name. */
  readonly secret: string;
  /** Such as `https://host:443`. */
  readonly target: string;
}

/** Throws when it is not recorded. */
export type RecordSecretUse = (use: SecretUse) => Promise<void>;

export function createSecretUseRecord(journal: Pick<Journal, 'append' | 'bodies'>): RecordSecretUse {
  return async ({ call, secret, target }) => {
    const data = { ...idsOf(call), secret, target: await journal.bodies.prepare(target) };
    await journal.append(call.run.caller.actor, [{ kind: 'secret.used', data }]);
  };
}
