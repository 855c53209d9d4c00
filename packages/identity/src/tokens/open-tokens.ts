import { equalInConstantTime, parseId, type TokenId } from '@palyra/primitives';
import { type Database, statement } from '@palyra/storage';
import type { CertificateAuthority } from '../ca/open-authority.ts';
import type { DeviceKind } from '../device-kind.ts';
import { IdentityError, type Refused, refused } from '../identity-error.ts';
import type { Device } from '../registry/device.ts';
import type { IdentitySchema, TokenRow } from '../registry/identity-schema.ts';
import { type IssueCertificate, issueDeviceCertificate } from '../registry/issue-device-certificate.ts';
import type { Registry } from '../registry/open-registry.ts';
import { checkRoles, groupsOf, type Role } from '../registry/roles.ts';
import { type CreatedToken, createToken, type NewToken } from './create-token.ts';
import { type Attempt, createThrottle, type Throttle } from './throttle.ts';
import { commitToken, isMakeable, type Token, tokenOf } from './token.ts';
import { type PresentedToken, readToken, type TokenPurpose } from './token-text.ts';

/** Who calls with a token. It has no device and no key, so it signs nothing. */
export interface TokenPeer {
  readonly token: TokenId;
  readonly principal: string;
  readonly kind: DeviceKind;
  readonly roles: readonly Role[];
  readonly groups: readonly string[];
  /** Of these, whatever policy allows the principal, and of nothing else. */
  readonly actions: readonly string[];
  readonly expiresAt: number;
}

export interface Tokens {
  create(token: NewToken): Promise<CreatedToken>;
  list(): Promise<readonly Token[]>;
  /** Throws `identity.unknown_token`. Revoking twice is fine. */
  revoke(input: { readonly token: TokenId; readonly by: string }): Promise<Token>;
  /** For every request, with what it wants to do. */
  admit(presented: Presented & { readonly action: string }): Promise<{ kind: 'admitted'; peer: TokenPeer } | Refused>;
  /** One use of an enrolment token for one certificate. Throws as `issueDeviceCertificate` does. */
  enrol(
    presented: Presented & Pick<Parameters<IssueCertificate>[0], 'csrDer' | 'name'>,
  ): Promise<({ kind: 'enrolled' } & Awaited<ReturnType<IssueCertificate>>) | Refused>;
}

export interface Presented {
  /** As it came: `Authorization: Bearer …`. */
  readonly text: string;
  /** Where from, for slowing down; loopback is no exception. */
  readonly address: string | undefined;
}

export interface TokensDeps {
  readonly registry: Registry;
  readonly authority: CertificateAuthority;
  /** One for all listeners of a process. */
  readonly throttle?: Throttle;
}

/** As long as a real one, so that comparing takes as long. */
const NO_DIGEST = '0'.repeat(64);

export function openTokens({ registry, authority, throttle: given }: TokensDeps): Tokens {
  const { context } = registry;
  const { database, clock } = context;
  const throttle = given ?? createThrottle(clock);

  const findRow = (id: string): Promise<TokenRow | undefined> =>
    database.read.selectFrom('identity_tokens').selectAll().where('id', '=', id).executeTakeFirst();

  /** SECURITY: T-36 — unknown, wrong, expired and revoked are one answer, and take one comparison each. */
  const find = async (shown: PresentedToken, purpose: TokenPurpose): Promise<Found | undefined> => {
    const row = await findRow(shown.id);
    const isRight = equalInConstantTime(Buffer.from(shown.digest), Buffer.from(row?.digest ?? NO_DIGEST));
    if (row === undefined || !isRight || shown.purpose !== purpose) return undefined;
    const token = tokenOf(row);
    if (token.purpose !== purpose || token.revokedAt !== null || clock.now() >= token.expiresAt) return undefined;
    const creator = await registry.find(parseId('device', token.createdBy));
    // SECURITY: T-36 — never wider than its creator is today: with the device that made it, or its role, a token falls too.
    const needed = purpose === 'access' ? 'operator' : 'admin';
    const isCovered = creator !== undefined && creator.revoked === null && creator.roles.includes(needed);
    return isCovered && isMakeable(token, creator) ? { token, creator } : undefined;
  };

  const present = async ({ text, address }: Presented, purpose: TokenPurpose): Promise<Found | Refused> => {
    const shown = readToken(text);
    const attempt: Attempt = shown === undefined ? { address } : { address, id: shown.id };
    // SECURITY: T-36 — counted before it is looked up: a thousand guesses at once are a thousand guesses.
    const trying = throttle.begin(attempt);
    if (trying === undefined) return refused('throttled');
    try {
      const found = shown === undefined ? undefined : await find(shown, purpose);
      if (found !== undefined) {
        trying.succeeded();
        return found;
      }
    } catch (error) {
      trying.forget();
      throw error;
    }
    trying.failed();
    return refused(shown === undefined ? 'malformed_token' : 'bad_token');
  };

  return {
    create: (token) => createToken(token, context),
    list: () => listTokens(database),
    async revoke({ token: id, by }) {
      const row = await findRow(id);
      if (row === undefined) throw unknownToken();
      if (row.revoked_at !== null) return tokenOf(row);
      const revoked = { revoked_at: clock.now(), revoked_by: by };
      const update = database.write.updateTable('identity_tokens').set(revoked).where('id', '=', id);
      const token = tokenOf({ ...row, ...revoked });
      return commitToken(statement(update, { rows: 1 }), { token, change: 'revoked', by }, context);
    },
    async admit({ action, ...presented }) {
      const found = await present(presented, 'access');
      if ('reason' in found) return found;
      // SECURITY: T-36 — before policy is asked, which knows the principal and not the token.
      if (!found.token.actions.includes(action)) return refused('out_of_scope');
      return { kind: 'admitted', peer: tokenPeer(found) };
    },
    async enrol({ csrDer, name, ...presented }) {
      const found = await present(presented, 'enrolment');
      if ('reason' in found) return found;
      const { token } = found;
      if ((token.usesLeft ?? 0) < 1) return refused('used_up');
      // SECURITY: T-34 — counted in the unit that lets the device in: two at the same time are two uses, or one of them fails.
      const use = database.write
        .updateTable('identity_tokens')
        .set((row) => ({ uses_left: row('uses_left', '-', 1) }))
        .where('id', '=', token.id)
        .where('uses_left', '>', 0)
        .where('revoked_at', 'is', null)
        .where('expires_at', '>', clock.now());
      const issue = issueDeviceCertificate(
        { authority, registry },
        {
          by: `token:${token.id}`,
          principalFor: () => token.principal,
          roles: checkRoles(token.kind, token.roles),
          place: 'separate_device',
          steps: [statement(use, { rows: 1 })],
        },
      );
      try {
        return { kind: 'enrolled', ...(await issue({ csrDer, kind: token.kind, name })) };
      } catch (error) {
        if (error instanceof IdentityError && error.code === 'identity.changed_meanwhile') return refused('used_up');
        throw error;
      }
    },
  };
}

/** The oldest first. */
export async function listTokens({ read }: Pick<Database<IdentitySchema>, 'read'>): Promise<readonly Token[]> {
  return (await read.selectFrom('identity_tokens').selectAll().orderBy('id').execute()).map(tokenOf);
}

interface Found {
  readonly token: Token;
  readonly creator: Device;
}

/** SECURITY: T-36 — an operator's token is no approver, no administrator and no auditor, whatever its maker is. */
function tokenPeer({ token }: Found): TokenPeer {
  const roles: readonly Role[] = token.kind === 'operator' ? ['operator'] : ['agent'];
  const { id, principal, kind, actions, expiresAt } = token;
  return { token: id, principal, kind, roles, groups: groupsOf(roles), actions, expiresAt };
}

function unknownToken(): IdentityError {
  return new IdentityError('identity.unknown_token', 'There is no such token.', {
    fix: '`palyra token list` shows those there are.',
  });
}
