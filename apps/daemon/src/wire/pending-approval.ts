import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ApprovalScope, type PendingApprovalSchema, type HumanAnswer as WireAnswer } from '@palyra/api';
import { type DecisionScope, type HumanAnswer, type PendingToolApproval, promptText } from '@palyra/approvals';
import { parseSha256Hex } from '@palyra/primitives';
import { invalid } from './proposal.ts';

type WireApproval = MessageInitShape<typeof PendingApprovalSchema> & { readonly promptJson: string };

export function wirePendingApproval(card: PendingToolApproval): WireApproval {
  return {
    approvalId: card.approvalId,
    state: card.state,
    principal: card.principal,
    sessionId: card.session,
    workspaceId: card.workspace,
    // The text whose digest an answer signs.
    promptJson: promptText(card.prompt),
    promptSha256: card.shown,
    waiting: card.waiting,
    votes: card.votes,
    askedAt: timestampFromMs(card.askedAt),
    expiresAt: timestampFromMs(card.expiresAt),
  };
}

const SCOPES: Readonly<Partial<Record<ApprovalScope, DecisionScope>>> = {
  [ApprovalScope.ONCE]: 'once',
  [ApprovalScope.SESSION]: 'session',
  [ApprovalScope.TIMEBOXED]: 'timeboxed',
  [ApprovalScope.ALWAYS]: 'always',
};

/** Throws `daemon.invalid_request`. */
export function humanAnswerOf(answer: WireAnswer | undefined): HumanAnswer {
  if (answer === undefined) throw invalid('There is no answer in it.');
  const { approve, scope: wireScope, ttlMs, reason, promptSha256 } = answer;
  const shown = parseSha256Hex(promptSha256);
  if (!approve) return { decision: 'deny', shown, ...(reason === '' ? {} : { reason }) };
  const scope = SCOPES[wireScope];
  if (scope === undefined) throw invalid('A yes says for how long: once, session, timeboxed or always.');
  return { decision: 'approve', scope, shown, ...(ttlMs === 0n ? {} : { ttlMs: Number(ttlMs) }) };
}
