import type { JsonValue } from '@palyra/primitives';

/** The same from `exec`, `tool call`, the SDK and MCP: what a caller is told, names as on the wire. */
export interface ToolCallResult {
  readonly run_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly decision: {
    readonly kind: 'allow' | 'ask' | 'deny';
    readonly policy_ids: readonly string[];
    readonly reason_code: string;
    readonly reason: string;
    readonly fix?: string;
  };
  readonly approval?: {
    readonly id: string;
    readonly outcome: 'approved' | 'denied' | 'expired' | 'cancelled' | 'pending';
    readonly scope?: string;
    readonly decided_by?: string;
    readonly device?: string;
    readonly assurance?: string;
  };
  readonly outcome: {
    readonly kind:
      | 'completed'
      | 'failed'
      | 'refused'
      | 'timed_out'
      | 'cancelled'
      | 'quota_exceeded'
      | 'unknown_outcome';
    readonly code?: string;
    readonly message?: string;
    readonly fix?: string;
    readonly exit_code?: number;
    readonly signal?: string;
    /** Text where it is text, else base64 under the other name. */
    readonly stdout?: string;
    readonly stdout_base64?: string;
    readonly stderr?: string;
    readonly stderr_base64?: string;
    readonly output?: JsonValue;
  };
  readonly attestation: {
    readonly attestation_id: string;
    readonly execution_sha256: string;
    readonly executor: string;
    readonly sandbox_enforcement: string;
    readonly coverage: string;
    readonly policy_snapshot_sha256: string;
    readonly journal_seq: number;
  };
}
