import type { AttestedApproval } from '@palyra/journal';
import type { Decision, PolicySet } from '@palyra/policy';
import { describeError } from '@palyra/primitives';
import type { ToolRefusal, ToolResult } from '../catalog/tool.ts';
import type { GatewayErrorCode } from '../gateway-error.ts';
import type { CallEvent } from './proposed-call.ts';

/** How an attempt ended. */
export type CallEnd = RefusedCall | { readonly kind: 'executed'; readonly result: Exclude<ToolResult, ToolRefusal> };

/** Nothing of it ran. */
export interface RefusedCall extends ToolRefusal {
  /** Policy's, or one in the same form for what was refused before policy was asked. */
  readonly decision?: RecordedDecision;
  /** The policies that made it, where they did. */
  readonly under?: Pick<PolicySet, 'digest' | 'preset'>;
  readonly approval?: AttestedApproval;
}

/** As it goes into the journal. */
export type RecordedDecision = Pick<Decision, 'kind' | 'policyIds' | 'reason'> & {
  /** Of policy, or of the gateway where policy was not asked. */
  readonly reasonCode: string;
  readonly fix?: string;
};

export function decidedEvent({ kind, policyIds, reasonCode, reason, fix }: RecordedDecision): CallEvent {
  return { kind: 'decided', decision: kind, policyIds, reasonCode, reason, ...(fix === undefined ? {} : { fix }) };
}

export function refusedBy(code: GatewayErrorCode, message: string, fix?: string): RefusedCall {
  return { kind: 'refused', code, message, fix };
}

/** SECURITY: T-09 — whatever is thrown before the word is given is a refusal, and is attested as one. */
export function refusedByFault(thrown: unknown): RefusedCall {
  const { code, message, fix } = describeError(thrown);
  return { kind: 'refused', code: code === 'internal' ? 'gateway.fault' : code, message, fix };
}
