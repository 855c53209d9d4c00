import type { DeviceKind } from '../device-kind.ts';
import { IdentityError } from '../identity-error.ts';

/** What a credential may be used for at all; policies are written about the group of the same name. */
export type Role = 'operator' | 'approver' | 'admin' | 'agent' | 'auditor';

export const ROLES: readonly Role[] = ['admin', 'agent', 'approver', 'auditor', 'operator'];

/**
 * The widest that each kind may have.
 * SECURITY: T-36 — the kind stands in the certificate, which only the authority can write: whoever edits a row makes no
 * approver of an agent.
 */
const ROLES_OF_KIND: Readonly<Record<DeviceKind, readonly Role[]>> = {
  operator: ['admin', 'approver', 'auditor', 'operator'],
  agent: ['agent'],
  node: [],
  service: ['agent', 'auditor'],
};

/** In one order, each once. Throws `identity.invalid_roles`. */
export function checkRoles(kind: DeviceKind, roles: readonly string[]): readonly Role[] {
  const known = ROLES_OF_KIND[kind];
  const wrong = roles.find((role) => !known.includes(role as Role));
  if (wrong !== undefined) {
    const choices = known.length === 0 ? 'It can have none.' : `It can be: ${known.join(', ')}.`;
    throw new IdentityError('identity.invalid_roles', `A device of kind ${kind} cannot have this role. ${choices}`);
  }
  return known.filter((role) => roles.includes(role));
}

/** What counts of a stored list. */
export function effectiveRoles(kind: DeviceKind, stored: readonly string[]): readonly Role[] {
  return ROLES_OF_KIND[kind].filter((role) => stored.includes(role));
}

/** The Cedar groups of a peer: `principal in Palyra::Group::"approver"`. */
export function groupsOf(roles: readonly Role[]): readonly string[] {
  return [...roles];
}
