import type { Token } from '@palyra/identity';

/** One token as every command prints it: all but its secret, which nobody has. */
export function tokenAsJson(token: Token): Readonly<Record<string, unknown>> {
  return {
    token_id: token.id,
    name: token.name,
    purpose: token.purpose,
    principal: token.principal,
    kind: token.kind,
    ...(token.purpose === 'access' ? { actions: token.actions } : { roles: token.roles, uses_left: token.usesLeft }),
    created_by: token.createdBy,
    created_at: new Date(token.createdAt).toISOString(),
    expires_at: new Date(token.expiresAt).toISOString(),
    ...(token.revokedAt === null ? {} : { revoked_at: new Date(token.revokedAt).toISOString() }),
  };
}
