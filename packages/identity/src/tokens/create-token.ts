import type { SecretText } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import { DAY_MS } from '../ca/lifetimes.ts';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';
import type { RegistryContext } from '../registry/change-device.ts';
import { checkName, checkPrincipal } from '../registry/device.ts';
import type { TokenRow } from '../registry/identity-schema.ts';
import { checkRoles } from '../registry/roles.ts';
import type { Peer } from '../tls/peer.ts';
import { commitToken, type Token, tokenOf } from './token.ts';
import { TOKEN_ACTIONS } from './token-actions.ts';
import { makeToken } from './token-text.ts';

export type NewToken = NewAccessToken | NewEnrolmentToken;

interface TokenTerms {
  readonly name: string;
  readonly principal: string;
  readonly ttlMs: number;
  /** Who makes it, as it was admitted. */
  readonly by: TokenCreator;
}

/** For clients that cannot do mTLS. */
export interface NewAccessToken extends TokenTerms {
  readonly purpose: 'access';
  readonly kind: 'agent' | 'operator';
  readonly actions: readonly string[];
}

/** For fleets: each use lets one device in. */
export interface NewEnrolmentToken extends TokenTerms {
  readonly purpose: 'enrolment';
  readonly kind: Exclude<DeviceKind, 'operator'>;
  readonly uses: number;
  readonly roles?: readonly string[];
}

export type TokenCreator = Pick<Peer, 'principal' | 'kind' | 'device' | 'roles'>;

export interface CreatedToken {
  readonly token: Token;
  /** Shown once. */
  readonly text: SecretText;
}

const LONGEST_ACCESS_MS = 90 * DAY_MS;
const LONGEST_ENROLMENT_MS = 7 * DAY_MS;
const MOST_USES = 10_000;

/** Throws `identity.token_refused`, `identity.invalid_lifetime`, `identity.invalid_name`, `identity.invalid_roles`. */
export async function createToken(input: NewToken, context: RegistryContext): Promise<CreatedToken> {
  refuseWider(input);
  checkTerms(input);
  const now = context.clock.now();
  const id = context.ids.newId('token');
  const { text, digest } = makeToken(input.purpose, id);
  const isAccess = input.purpose === 'access';
  const row: TokenRow = {
    id,
    purpose: input.purpose,
    name: checkName(input.name),
    digest,
    principal: checkPrincipal(input.principal, input.kind),
    kind: input.kind,
    actions: JSON.stringify(isAccess ? TOKEN_ACTIONS.filter((action) => input.actions.includes(action)) : []),
    roles: JSON.stringify(isAccess ? [] : checkRoles(input.kind, input.roles ?? [])),
    uses_left: isAccess ? null : input.uses,
    created_by: input.by.device,
    created_at: now,
    expires_at: now + input.ttlMs,
    revoked_at: null,
    revoked_by: null,
  };
  const insert = context.database.write.insertInto('identity_tokens').values(row);
  const made = { token: tokenOf(row), change: 'created', by: input.by.principal } as const;
  return { token: await commitToken(statement(insert, { rows: 1 }), made, context), text };
}

/** SECURITY: T-36 — nothing comes out of a token that its creator could not do. */
function refuseWider(input: NewToken): void {
  const { by } = input;
  if (by.kind !== 'operator') throw tokenRefused('Only an operator makes tokens, with their own credential.');
  if (input.purpose === 'enrolment') {
    // As letting a single device in is: an act of administrators.
    if (!by.roles.includes('admin')) throw tokenRefused('Letting devices in needs the role admin.');
    if ((input.kind as DeviceKind) === 'operator') throw tokenRefused('An operator is paired in person.');
    return;
  }
  if (!by.roles.includes('operator')) throw tokenRefused('Making tokens needs the role operator.');
  if (input.kind === 'operator' && input.principal !== by.principal) {
    throw tokenRefused('An operator makes tokens for agents and for themselves, and for nobody else.');
  }
  const wrong = input.actions.filter((action) => !TOKEN_ACTIONS.includes(action));
  if (wrong.length === 0 && input.actions.length > 0) return;
  throw tokenRefused(
    wrong.length === 0
      ? 'A token is for something: it names its actions.'
      : 'What is for people or administrators, or is no action at all, is in no token.',
    `A token can be for: ${TOKEN_ACTIONS.join(', ')}.`,
  );
}

function checkTerms(input: NewToken): void {
  const longest = input.purpose === 'access' ? LONGEST_ACCESS_MS : LONGEST_ENROLMENT_MS;
  if (!Number.isSafeInteger(input.ttlMs) || input.ttlMs < 1_000 || input.ttlMs > longest) {
    const days = longest / DAY_MS;
    throw new IdentityError('identity.invalid_lifetime', `A token of this kind lives from a second to ${days} days.`);
  }
  if (input.purpose === 'access') return;
  if (Number.isInteger(input.uses) && input.uses >= 1 && input.uses <= MOST_USES) return;
  throw new IdentityError('identity.invalid_lifetime', `An enrolment token is used 1 to ${MOST_USES} times.`);
}

function tokenRefused(message: string, fix?: string): IdentityError {
  return new IdentityError('identity.token_refused', message, fix === undefined ? {} : { fix });
}
