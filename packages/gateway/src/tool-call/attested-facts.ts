import type { AttestedCall } from '@palyra/journal';
import { approvedBy } from './attested-approval.ts';
import type { CallEnd } from './call-end.ts';
import { type FollowedCall, idsOf, type LastDecision } from './call-ledger.ts';
import type { PermittedCall } from './permitted-call.ts';

export type AttestedFacts = Omit<AttestedCall['facts'], 'anchor'>;

/** Known of a call before it runs, and attested of it whatever becomes of it. */
export type KnownFacts = Pick<
  AttestedFacts,
  | 'run_id'
  | 'session_id'
  | 'call_id'
  | 'parent_call_id'
  | 'principal'
  | 'device'
  | 'tool'
  | 'input_sha256'
  | 'separation'
  | 'coverage'
  | 'limits'
  | 'approval'
  | 'decided_at'
>;

export function knownFacts(call: FollowedCall): KnownFacts {
  const { run, proposed, plan, permit } = call;
  const { deviceId, separation, coverage } = run.caller;
  const approval = permit === undefined ? undefined : approvedBy(permit);
  return {
    ...idsOf(call),
    ...(proposed.parent === undefined ? {} : { parent_call_id: proposed.parent }),
    ...(deviceId === undefined ? {} : { device: deviceId }),
    input_sha256: call.input.commitment,
    separation,
    coverage,
    limits: plan?.limits ?? {},
    ...(approval === undefined ? {} : { approval }),
    decided_at: call.decidedAt ?? call.openedAt,
  };
}

/** Everything that is attested of a call but where it is anchored. */
export function attestedFacts(call: FollowedCall, end: CallEnd, last: LastDecision): AttestedFacts {
  const known = knownFacts(call);
  const decided = decidedFacts(last);
  if (end.kind === 'refused') {
    const { approval = known.approval } = end;
    return {
      ...known,
      ...decided,
      ...(approval === undefined ? {} : { approval }),
      executor: 'none',
      sandbox_enforcement: 'not_executed',
      egress: [],
      outcome: { kind: 'refused', code: end.code },
    };
  }
  const { result } = end;
  const { ran } = result;
  return {
    ...known,
    ...decided,
    executor: ran?.executor ?? call.plan?.executor ?? 'unknown',
    sandbox_enforcement: ran?.enforcement ?? 'none',
    egress: ran?.egress ?? [],
    ...(ran?.egressLeftOut === undefined ? {} : { egress_left_out: ran.egressLeftOut }),
    ...(ran === undefined
      ? {}
      : { sandbox: ran.sandbox, resources: ran.resources, started_at: ran.startedAt, ended_at: ran.endedAt }),
    outcome: {
      kind: result.kind,
      ...('code' in result ? { code: result.code } : {}),
      ...(result.exitCode === undefined ? {} : { exit_code: result.exitCode }),
      ...(result.signal === undefined ? {} : { signal: result.signal }),
    },
  };
}

/** For the row by which a restart finds a call that was under way: all that can be attested of it then. */
export function intendedFacts(call: PermittedCall, made: LastDecision): AttestedFacts {
  return {
    ...knownFacts(call),
    ...decidedFacts(made),
    executor: call.plan.executor,
    sandbox_enforcement: 'none',
    egress: [],
    outcome: { kind: 'unknown_outcome', code: 'gateway.interrupted' },
  };
}

function decidedFacts({ decision, policySet, snapshot }: LastDecision) {
  return {
    policy_snapshot_sha256: snapshot,
    policy_set_sha256: policySet,
    decision: { kind: decision.kind, policy_ids: [...decision.policyIds], reason_code: decision.reasonCode },
  };
}
