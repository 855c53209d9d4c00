import type { ActivePolicies, PolicyRequest } from '@palyra/policy';
import type { Clock } from '@palyra/primitives';
import { GatewayError } from '../gateway-error.ts';
import type { Caller } from '../tool-call/proposed-call.ts';

/** Something that is done with Palyra itself. */
export interface Deed extends Pick<PolicyRequest, 'resource'> {
  /** One of the schema's, such as `run.read`. */
  readonly action: string;
  /** What it is done to belongs to the same credential. */
  readonly isOwn?: boolean;
}

interface MayDeps {
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Clock;
}

/** SECURITY: T-36 — by who the credential proves to be: policy decides, and every fault is a no. */
export function mayDo(by: Caller, { action, resource, isOwn = false }: Deed, { policies, clock }: MayDeps): boolean {
  const { principal, groups, deviceId, channel, coverage, separation } = by;
  const decision = policies.decide({
    principal,
    groups,
    action,
    resource,
    context: {
      ...(deviceId === undefined ? {} : { deviceId }),
      ...(channel === undefined ? {} : { channel }),
      coverage,
      separation,
      now: clock.now(),
      facts: { kind: 'situation', isOwn },
    },
  });
  return decision.kind === 'allow';
}

/** Throws `gateway.not_authorized`. */
export function requireMay(by: Caller, deed: Deed, deps: MayDeps): void {
  if (mayDo(by, deed, deps)) return;
  throw new GatewayError('gateway.not_authorized', 'This credential may not do that.', {
    fix: 'Ask an operator, or use a credential of one.',
  });
}
