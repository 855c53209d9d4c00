import type { GetStatusResponse } from '@palyra/api';
import { number, said, text, time } from '../wire/plain.ts';

/** What runs and what is enforced. */
export interface Status {
  readonly version: string;
  readonly pid: number;
  readonly started_at?: string;
  /** `personal`, `service` or `remote`. */
  readonly separation: string;
  readonly tiers: readonly TierStatus[];
  readonly agents: readonly AgentStatus[];
  readonly policy_set_sha256: string;
  readonly preset: string;
  readonly has_pending_policy_edits: boolean;
  readonly storage: string;
  readonly open_runs: number;
  readonly open_questions: number;
  readonly journal_origin: string;
  /** Calls whose outcome is not known, because palyrad ended while they ran. */
  readonly interrupted_calls: readonly string[];
  readonly listeners: readonly { readonly name: string; readonly address: string }[];
  /** `protected` or `unprotected`. */
  readonly approver_key: string;
}

export interface TierStatus {
  readonly tier: string;
  readonly available: boolean;
  readonly says: string;
  readonly fix?: string;
}

export interface AgentStatus {
  readonly principal: string;
  /** `wrapped`, `hooked`, `mcp_only` or `direct`. */
  readonly coverage: string;
  readonly open_runs: number;
  readonly last_seen_at?: string;
}

export function toStatus(wire: GetStatusResponse): Status {
  return said<Status>({
    version: wire.version,
    pid: number(wire.pid),
    started_at: time(wire.startedAt),
    separation: wire.separation,
    tiers: wire.tiers.map(({ tier, available, says, fix }) =>
      said<TierStatus>({ tier, available, says, fix: text(fix) }),
    ),
    agents: wire.agents.map(({ principal, coverage, openRuns, lastSeenAt }) =>
      said<AgentStatus>({ principal, coverage, open_runs: openRuns, last_seen_at: time(lastSeenAt) }),
    ),
    policy_set_sha256: wire.policySetSha256,
    preset: wire.preset,
    has_pending_policy_edits: wire.hasPendingPolicyEdits,
    storage: wire.storage,
    open_runs: wire.openRuns,
    open_questions: wire.openQuestions,
    journal_origin: wire.journalOrigin,
    interrupted_calls: wire.interruptedCalls,
    listeners: wire.listeners.map(({ name, address }) => ({ name, address })),
    approver_key: wire.approverKey,
  });
}
