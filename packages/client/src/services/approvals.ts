import type { Client as RpcClient } from '@connectrpc/connect';
import { ApprovalScope, type ApprovalService, type PendingApproval as WireApproval } from '@palyra/api';
import type { JsonObject } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import { type StreamDeps, watchAgain } from '../connection/watch-again.ts';
import type { ScopeName } from '../run/tool-call-result.ts';
import { json, said, text, time } from '../wire/plain.ts';
import { ask, collect } from './call.ts';
import { checkDraft, digestOfPrompt, signedBytes } from './decision-draft.ts';

/** A question to people. */
export interface PendingApproval {
  readonly approval_id: string;
  readonly state: string;
  readonly principal: string;
  readonly session_id: string;
  readonly workspace_id: string;
  /** All of what must be shown (ApprovalPromptRecord). */
  readonly prompt: JsonObject;
  readonly prompt_sha256: string;
  /** How many calls wait for the answer. */
  readonly waiting: number;
  /** How many people have said yes so far. */
  readonly votes: number;
  readonly asked_at?: string;
  readonly expires_at?: string;
}

/** What a person says. */
export type ApprovalAnswer =
  | { readonly decision: 'approve'; readonly scope: ScopeName /** Of `timeboxed`. */; readonly ttlMs?: number }
  | { readonly decision: 'deny' /** Reaches the agent. */; readonly reason?: string };

/** The key of the person's device: identity's `deviceDecider` is one. */
export interface Signer {
  /** The id of the device. */
  readonly device: string;
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

export interface DecisionRecorded {
  /** `counted`: more people are needed. `conflict`: somebody else was first, or the question has changed. */
  readonly kind: 'decided' | 'counted' | 'conflict' | 'refused';
  readonly state?: string;
  readonly grant_id?: string;
  readonly rule_id?: string;
  /** Other questions that it answered. */
  readonly released: readonly string[];
  readonly approvers: number;
  readonly needed: number;
  /** Why it was refused. */
  readonly code?: string;
  readonly message?: string;
}

export type ApprovalChange =
  /** Forget what was told so far: all that are open follow. The first, and again after a lost connection. */
  | { readonly kind: 'restarted' }
  | { readonly kind: 'approval'; readonly approval: PendingApproval }
  /** All that were open have been told. */
  | { readonly kind: 'caught_up' };

export interface Approvals {
  /** Open questions, oldest first. */
  list(options?: { readonly principal?: string; readonly limit?: number }): Promise<readonly PendingApproval[]>;
  /** By its id or the last 4 or more characters of it. */
  get(id: string): Promise<PendingApproval>;
  /** All that are open, then what changes, until the signal says so. */
  watch(options?: { readonly signal?: AbortSignal }): AsyncIterable<ApprovalChange>;
  /**
   * Answers a question as it was shown, signed on this device. Throws `client.statement_differs` when palyrad would have
   * something else signed.
   */
  decide(shown: PendingApproval, answer: ApprovalAnswer, signer: Signer): Promise<DecisionRecorded>;
}

export function createApprovals(rpc: RpcClient<typeof ApprovalService>, deps: StreamDeps): Approvals {
  return {
    list({ principal = '', limit } = {}) {
      return collect(async (pageToken, pageSize) => {
        const { approvals, nextPageToken } = await rpc.listApprovals({ principal, limit: pageSize, pageToken });
        return { items: approvals.map(toPendingApproval), nextPageToken };
      }, limit);
    },
    async get(approvalId) {
      const { approval } = await ask(rpc.getApproval({ approvalId }));
      if (approval === undefined) throw new ClientError('client.protocol', 'palyrad told no question.');
      return toPendingApproval(approval);
    },
    watch: (options = {}) => watchApprovals(rpc, options.signal, deps),
    async decide(shown, answer, signer) {
      // SECURITY: T-46 — of what was shown, and not what the server calls its digest.
      const promptSha256 = digestOfPrompt(shown.prompt);
      const approvalId = shown.approval_id;
      const { statement } = await ask(
        rpc.draftDecision({ approvalId, answer: { ...toWireAnswer(answer), promptSha256 } }),
      );
      checkDraft(statement, { shown, answer, promptSha256, device: signer.device });
      const signature = await signer.sign(signedBytes(statement));
      const recorded = await ask(rpc.recordDecision({ statement, signature }));
      return toRecorded(recorded);
    },
  };
}

async function* watchApprovals(
  rpc: RpcClient<typeof ApprovalService>,
  stop: AbortSignal | undefined,
  deps: StreamDeps,
): AsyncGenerator<ApprovalChange> {
  const told = watchAgain({ open: (signal) => rpc.watchApprovals({}, { signal }), stop }, deps);
  for await (const item of told) {
    if (item.kind === 'opened') {
      yield { kind: 'restarted' };
      continue;
    }
    const { change } = item.message;
    if (change.case === 'approval') yield { kind: 'approval', approval: toPendingApproval(change.value) };
    if (change.case === 'caughtUp') yield { kind: 'caught_up' };
    // Those that ended meanwhile were not told either: only a new beginning is whole.
    if (change.case === 'gap') item.reopen();
  }
}

function toPendingApproval(wire: WireApproval): PendingApproval {
  return said<PendingApproval>({
    approval_id: wire.approvalId,
    state: wire.state,
    principal: wire.principal,
    session_id: wire.sessionId,
    workspace_id: wire.workspaceId,
    prompt: (json(wire.promptJson) ?? {}) as JsonObject,
    prompt_sha256: wire.promptSha256,
    waiting: wire.waiting,
    votes: wire.votes,
    asked_at: time(wire.askedAt),
    expires_at: time(wire.expiresAt),
  });
}

const WIRE_SCOPES: Readonly<Record<ScopeName, ApprovalScope>> = {
  once: ApprovalScope.ONCE,
  session: ApprovalScope.SESSION,
  timeboxed: ApprovalScope.TIMEBOXED,
  always: ApprovalScope.ALWAYS,
};

function toWireAnswer(answer: ApprovalAnswer): {
  approve: boolean;
  scope: ApprovalScope;
  ttlMs: bigint;
  reason: string;
} {
  const no = { approve: false, scope: ApprovalScope.ONCE, ttlMs: 0n, reason: '' };
  if (answer.decision === 'deny') return { ...no, reason: answer.reason ?? '' };
  return { ...no, approve: true, scope: WIRE_SCOPES[answer.scope], ttlMs: BigInt(answer.ttlMs ?? 0) };
}

function toRecorded(wire: Awaited<ReturnType<RpcClient<typeof ApprovalService>['recordDecision']>>): DecisionRecorded {
  return said<DecisionRecorded>({
    kind: wire.kind === 'decided' || wire.kind === 'counted' || wire.kind === 'conflict' ? wire.kind : 'refused',
    state: text(wire.state),
    grant_id: text(wire.grantId),
    rule_id: text(wire.ruleId),
    released: wire.released,
    approvers: wire.approvers,
    needed: wire.needed,
    code: text(wire.code),
    message: text(wire.message),
  });
}
