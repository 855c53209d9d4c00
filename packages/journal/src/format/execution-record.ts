import { canonicalJsonBytes } from '@palyra/primitives/browser';
import type { ToolAttestation } from './attestation-fields.ts';

/** What one call came to, in one body: `execution_sha256` is SHA-256(salt ‖ the canonical JSON of this). */
export interface ExecutionRecord {
  readonly format: 'palyra.execution/1';
  readonly call_id: string;
  readonly tool: string;
  readonly input_sha256: string;
  readonly output_sha256?: string;
  readonly executor: string;
  readonly sandbox_enforcement: ToolAttestation['sandbox_enforcement'];
  readonly outcome: ToolAttestation['outcome']['kind'];
  readonly exit_code?: number;
  readonly signal?: string;
  readonly started_at?: number;
  readonly ended_at?: number;
  readonly policy_snapshot_sha256: string;
}

/**
 * The body behind `execution_sha256`. It is made of the attestation's own fields, so whoever has the salt recomputes the
 * digest from the attestation alone, and whoever makes the attestation calls this before it has the digest.
 */
export function executionRecordOf(attestation: Omit<ToolAttestation, 'execution_sha256' | 'anchor'>): Uint8Array {
  const { call_id, tool, input_sha256, executor, sandbox_enforcement, outcome, policy_snapshot_sha256 } = attestation;
  return executionRecordBytes({
    call_id,
    tool,
    input_sha256,
    executor,
    sandbox_enforcement,
    outcome: outcome.kind,
    policy_snapshot_sha256,
    ...present(attestation, ['output_sha256', 'started_at', 'ended_at']),
    ...present(outcome, ['exit_code', 'signal']),
  });
}

export function executionRecordBytes(fields: Omit<ExecutionRecord, 'format'>): Uint8Array {
  const record: ExecutionRecord = { format: 'palyra.execution/1', ...fields };
  return canonicalJsonBytes({ ...record });
}

/** Absent fields stay absent: canonical JSON has no word for undefined. */
function present<Type extends object, Name extends keyof Type>(from: Type, names: readonly Name[]): Pick<Type, Name> {
  const found = names.filter((name) => from[name] !== undefined).map((name) => [name, from[name]] as const);
  return Object.fromEntries(found) as Pick<Type, Name>;
}
