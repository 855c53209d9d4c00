import { parseJson } from '@palyra/primitives/browser';
import {
  boolean,
  type Check,
  choice,
  count,
  digest,
  id,
  integer,
  list,
  matching,
  name,
  object,
  optional,
  origin,
  record,
  rule,
  text,
  textUpTo,
} from './check-shape.ts';

/**
 * What this daemon states about one call, refusals included: the predicate of an in-toto statement. Times are
 * milliseconds since the Unix epoch. Where the attestation itself stands in the log is outside it: it is written before
 * that is known.
 */
export interface ToolAttestation {
  readonly attestation_id: string;
  /** Of the log that holds the call. */
  readonly origin: string;
  readonly run_id: string;
  readonly session_id: string;
  readonly call_id: string;
  readonly parent_call_id?: string;
  readonly principal: string;
  /** The device that proved the principal. */
  readonly device?: string;
  readonly tool: string;
  /** The three are commitments: SHA-256(salt ‖ body), with the salts kept beside the bodies. */
  readonly input_sha256: string;
  readonly output_sha256?: string;
  /** The body is what `executionRecordOf` makes of this attestation. */
  readonly execution_sha256: string;
  /** Such as `sandbox_tier_c_linux_bubblewrap`; `none` for a refusal. */
  readonly executor: string;
  readonly sandbox_enforcement: 'strict' | 'preflight' | 'none' | 'box' | 'not_executed';
  readonly separation: 'personal' | 'service' | 'remote';
  readonly coverage: 'wrapped' | 'hooked' | 'mcp_only' | 'direct';
  /** `client_reported`: an agent ran its own tool and said so. */
  readonly reported_by?: 'palyra' | 'client_reported';
  /** What was measured of the sandbox, as it was found. */
  readonly sandbox?: Readonly<Record<string, SandboxFact>>;
  readonly limits: Readonly<Record<string, number>>;
  readonly resources?: Readonly<Record<string, number>>;
  readonly egress: readonly EgressConnection[];
  /** How many connections the list leaves out because it is full. */
  readonly egress_left_out?: number;
  /** All of them, one by one: how many lines they are, and what the body of the outcome that has them is committed to by. */
  readonly egress_all?: { readonly count: number; readonly sha256: string };
  readonly policy_snapshot_sha256: string;
  readonly policy_set_sha256: string;
  readonly decision: AttestedDecision;
  readonly approval?: AttestedApproval;
  readonly outcome: AttestedOutcome;
  readonly decided_at: number;
  readonly started_at?: number;
  readonly ended_at?: number;
  readonly anchor: Anchor;
}

export type SandboxFact = string | number | boolean | readonly string[];

export interface EgressConnection {
  readonly host: string;
  readonly port: number;
  readonly bytes_out?: number;
  readonly bytes_in?: number;
  readonly outcome: 'allowed' | 'denied';
  /** Why it was denied, or why nothing came of it. */
  readonly code?: string;
  /** How many connections this line stands for; one unless told. */
  readonly connections?: number;
}

export interface AttestedDecision {
  readonly kind: 'allow' | 'ask' | 'deny';
  readonly policy_ids: readonly string[];
  readonly reason_code: string;
}

/** Whoever approved or denied signed it; nobody signs that a question expired. */
export interface AttestedApproval {
  readonly approval_id: string;
  readonly outcome: 'approved' | 'denied' | 'expired' | 'cancelled';
  /** The signed statement with its signature: JSON text, kept as it came. */
  readonly statement?: string;
  readonly decider?: string;
  readonly device_id?: string;
  readonly scope?: 'once' | 'session' | 'timeboxed' | 'always';
  readonly pattern?: string;
  /** Of the prompt as it was shown. */
  readonly prompt_sha256: string;
  readonly assurance?: 'same_host_key' | 'separate_device' | 'user_verified';
}

export interface AttestedOutcome {
  readonly kind: 'completed' | 'failed' | 'refused' | 'timed_out' | 'cancelled' | 'quota_exceeded' | 'unknown_outcome';
  readonly code?: string;
  readonly exit_code?: number;
  readonly signal?: string;
}

/** Position and hash of the call's intent entry, or of its decision entry when it was refused. */
export interface Anchor {
  readonly kind: 'intent' | 'decision';
  readonly seq: number;
  readonly hash: string;
}

/** A whole document of its own, so longer than other texts. */
const MAX_STATEMENT = 16 * 1024;

const anyStatement = textUpTo(MAX_STATEMENT);

const statement: Check<string> = (value, fault): value is string => {
  if (!anyStatement(value, fault)) return false;
  if (isJsonObject(value)) return true;
  fault.reason = 'is not the text of a JSON object';
  return false;
};

function isJsonObject(value: string): boolean {
  try {
    const parsed = parseJson(value);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}

const texts = list(text);

const sandboxFact: Check<SandboxFact> = (value, fault): value is SandboxFact => {
  if (Array.isArray(value)) return texts(value, fault);
  if (typeof value === 'string') return text(value, fault);
  return typeof value === 'boolean' ? boolean(value, fault) : measured(value, fault);
};

/** Whole numbers beyond 2^53 would be read differently by different programs. */
const measured: Check<number> = rule(
  'is neither text, number, true, false nor a list of texts',
  (value): value is number =>
    typeof value === 'number' &&
    Number.isFinite(value) &&
    !Object.is(value, -0) &&
    (!Number.isInteger(value) || Number.isSafeInteger(value)),
);

const connection = object<EgressConnection>({
  host: text,
  port: rule('is not a port', (value): value is number => Number.isInteger(value) && inRange(value as number, 65_535)),
  bytes_out: optional(count),
  bytes_in: optional(count),
  outcome: choice('allowed', 'denied'),
  code: optional(name),
  connections: optional(count),
});

function inRange(value: number, most: number): boolean {
  return !Object.is(value, -0) && value >= 0 && value <= most;
}

const decision = object<AttestedDecision>({
  kind: choice('allow', 'ask', 'deny'),
  policy_ids: list(name),
  reason_code: name,
});

const approval = object<AttestedApproval>({
  approval_id: id,
  outcome: choice('approved', 'denied', 'expired', 'cancelled'),
  statement: optional(statement),
  decider: optional(name),
  device_id: optional(id),
  scope: optional(choice('once', 'session', 'timeboxed', 'always')),
  pattern: optional(text),
  prompt_sha256: digest,
  assurance: optional(choice('same_host_key', 'separate_device', 'user_verified')),
});

const outcome = object<AttestedOutcome>({
  kind: choice('completed', 'failed', 'refused', 'timed_out', 'cancelled', 'quota_exceeded', 'unknown_outcome'),
  code: optional(name),
  exit_code: optional(integer),
  signal: optional(matching(/^SIG[A-Z0-9+-]{1,16}$/, 'the name of a signal')),
});

const anchor = object<Anchor>({ kind: choice('intent', 'decision'), seq: count, hash: digest });

export const attestationFields: Check<ToolAttestation> = object<ToolAttestation>({
  attestation_id: id,
  origin,
  run_id: id,
  session_id: id,
  call_id: id,
  parent_call_id: optional(id),
  principal: name,
  device: optional(id),
  tool: name,
  input_sha256: digest,
  output_sha256: optional(digest),
  execution_sha256: digest,
  executor: name,
  sandbox_enforcement: choice('strict', 'preflight', 'none', 'box', 'not_executed'),
  separation: choice('personal', 'service', 'remote'),
  coverage: choice('wrapped', 'hooked', 'mcp_only', 'direct'),
  reported_by: optional(choice('palyra', 'client_reported')),
  sandbox: optional(record(sandboxFact)),
  limits: record(count),
  resources: optional(record(count)),
  egress: list(connection),
  egress_left_out: optional(count),
  egress_all: optional(object<NonNullable<ToolAttestation['egress_all']>>({ count, sha256: digest })),
  policy_snapshot_sha256: digest,
  policy_set_sha256: digest,
  decision,
  approval: optional(approval),
  outcome,
  decided_at: count,
  started_at: optional(count),
  ended_at: optional(count),
  anchor,
});
