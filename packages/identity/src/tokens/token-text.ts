import { createHash } from 'node:crypto';
import {
  parseId,
  type RandomBytes,
  Secret,
  type SecretText,
  secureRandomBytes,
  type TokenId,
} from '@palyra/primitives';

/** `palyra_at_ID_SECRET` for access, `palyra_et_ID_SECRET` for enrolment: found by scanners of leaked secrets, and by us. */
export type TokenPurpose = 'access' | 'enrolment';

const MARKS = { access: 'at', enrolment: 'et' } as const;
const SECRET_BYTES = 32;
const TOKEN = /^palyra_(?<mark>at|et)_(?<id>[0-9A-Z]{26})_(?<secret>[A-Za-z0-9_-]{43})$/;

export interface MadeToken {
  readonly text: SecretText;
  /** All that is kept. */
  readonly digest: string;
}

export function makeToken(purpose: TokenPurpose, id: TokenId, random: RandomBytes = secureRandomBytes): MadeToken {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('base64url');
  return { text: new Secret(`palyra_${MARKS[purpose]}_${id}_${secret}`), digest: digestOf(secret) };
}

export interface PresentedToken {
  readonly purpose: TokenPurpose;
  readonly id: TokenId;
  readonly digest: string;
}

/** Undefined for what is no token at all. */
export function readToken(text: string): PresentedToken | undefined {
  const found = TOKEN.exec(text)?.groups;
  if (found === undefined) return undefined;
  try {
    const purpose = found['mark'] === MARKS.access ? 'access' : 'enrolment';
    return { purpose, id: parseId('token', found['id']), digest: digestOf(found['secret'] ?? '') };
  } catch {
    return undefined;
  }
}

/** Plain SHA-256: nothing can be guessed of 256 random bits, so there is nothing to slow down. */
function digestOf(secret: string): string {
  return createHash('sha256').update(`palyra/token/v1\n${secret}`).digest('hex');
}
