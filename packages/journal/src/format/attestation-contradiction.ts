import type { AttestedApproval, ToolAttestation } from './attestation-fields.ts';

/**
 * What makes an attestation impossible though each field is well formed; undefined when nothing does. Whether a call was
 * rightly run, and whether its times are in order, are not asked: an attestation must be able to state a fault of the
 * daemon, and clocks are set back.
 */
export function contradictionIn(attestation: ToolAttestation): string | undefined {
  const isRefusal = attestation.outcome.kind === 'refused';
  const disagreeing = SIGNS_OF_REFUSAL.find(({ holds }) => holds(attestation) !== isRefusal);
  if (disagreeing !== undefined) {
    return `the outcome ${isRefusal ? 'is' : 'is not'} a refusal, but ${disagreeing.field} says otherwise`;
  }
  return (
    (isRefusal ? tracesOfExecution(attestation) : gapsInExecution(attestation)) ?? gapsInApproval(attestation.approval)
  );
}

const SIGNS_OF_REFUSAL: readonly {
  readonly field: string;
  readonly holds: (attestation: ToolAttestation) => boolean;
}[] = [
  { field: 'sandbox_enforcement', holds: ({ sandbox_enforcement }) => sandbox_enforcement === 'not_executed' },
  { field: 'executor', holds: ({ executor }) => executor === 'none' },
  { field: 'anchor', holds: ({ anchor }) => anchor.kind === 'decision' },
];

const OF_AN_EXECUTION = ['started_at', 'ended_at', 'sandbox', 'resources'] as const;

function tracesOfExecution({ outcome, egress, ...attestation }: ToolAttestation): string | undefined {
  const trace = [...OF_AN_EXECUTION, 'output_sha256', 'egress_left_out', 'egress_all'].find((field) =>
    Object.hasOwn(attestation, field),
  );
  if (trace !== undefined) return `a refused call has no ${trace}`;
  if (egress.length > 0) return 'a refused call has made no connections';
  if (outcome.exit_code !== undefined || outcome.signal !== undefined) return 'a refused call has not exited';
  return undefined;
}

/** After a crash, the daemon knows no more than that the call was about to run. */
function gapsInExecution(attestation: ToolAttestation): string | undefined {
  if (attestation.outcome.kind === 'unknown_outcome') return undefined;
  const gap = OF_AN_EXECUTION.find((field) => attestation[field] === undefined);
  return gap === undefined ? undefined : `a call that was executed has its ${gap}`;
}

const OF_A_DECIDER = ['statement', 'decider', 'device_id', 'assurance'] as const;

function gapsInApproval(approval: AttestedApproval | undefined): string | undefined {
  if (approval?.outcome !== 'approved' && approval?.outcome !== 'denied') return undefined;
  const needed = approval.outcome === 'approved' ? ([...OF_A_DECIDER, 'scope'] as const) : OF_A_DECIDER;
  const gap = needed.find((field) => approval[field] === undefined);
  return gap === undefined ? undefined : `an approval that was ${approval.outcome} has its ${gap}`;
}
