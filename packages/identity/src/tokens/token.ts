import { parseId, type TokenId } from '@palyra/primitives';
import type { Step } from '@palyra/storage';
import { type DeviceKind, isDeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import { changedMeanwhile, type RegistryContext } from '../registry/change-device.ts';
import { type Device, isPrincipalOf, readList } from '../registry/device.ts';
import type { TokenEvent } from '../registry/identity-record.ts';
import type { TokenRow } from '../registry/identity-schema.ts';
import { effectiveRoles } from '../registry/roles.ts';
import { TOKEN_ACTIONS } from './token-actions.ts';
import type { TokenPurpose } from './token-text.ts';

/** What is known of a token; its secret is not. */
export interface Token {
  readonly id: TokenId;
  readonly purpose: TokenPurpose;
  readonly name: string;
  readonly principal: string;
  readonly kind: DeviceKind;
  readonly actions: readonly string[];
  readonly roles: readonly string[];
  /** Null: as often as wanted. */
  readonly usesLeft: number | null;
  /** The device of the human who made it: the token falls with it. */
  readonly createdBy: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}

/** Throws `identity.corrupt`. */
export function tokenOf(row: TokenRow): Token {
  const { kind, purpose } = row;
  if (!isDeviceKind(kind) || (purpose !== 'access' && purpose !== 'enrolment')) {
    throw new IdentityError('identity.corrupt', 'A stored token cannot be read.');
  }
  return {
    id: parseId('token', row.id),
    purpose,
    name: row.name,
    principal: row.principal,
    kind,
    // SECURITY: T-36 — what is in no token stays out of it, also when somebody wrote it into the row.
    actions: readList(row.actions).filter((action) => TOKEN_ACTIONS.includes(action)),
    roles: effectiveRoles(kind, readList(row.roles)),
    usesLeft: row.uses_left,
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  };
}

/**
 * Whether a token of these terms can have been made here.
 * SECURITY: T-36 — asked again when it is used: an operator's certificate is for nobody who can merely write a row.
 */
export function isMakeable({ purpose, kind, principal }: Token, creator: Pick<Device, 'principal'>): boolean {
  if (!isPrincipalOf(principal, kind)) return false;
  if (purpose === 'enrolment') return kind !== 'operator';
  return kind === 'agent' || (kind === 'operator' && principal === creator.principal);
}

/**
 * Commits what is done to a token and what the journal says about it. Throws `identity.changed_meanwhile`.
 * SECURITY: T-32 — both or neither: whom a token lets in does not show who made it.
 */
export async function commitToken(
  step: Step,
  { token, change, by }: { readonly token: Token; readonly change: TokenEvent['change']; readonly by: string },
  { commit }: Pick<RegistryContext, 'commit'>,
): Promise<Token> {
  const { id, purpose, principal } = token;
  const event: TokenEvent = { kind: 'token', change, token: id, purpose, principal, by };
  const outcome = await commit({ steps: [step] }, [event]);
  if (outcome.kind === 'conflict') throw changedMeanwhile();
  return token;
}
