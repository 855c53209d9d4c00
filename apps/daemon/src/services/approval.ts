import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';
import type { ApprovalService, RecordDecisionResponseSchema, WatchApprovalsResponseSchema } from '@palyra/api';
import { type Approvals, type PendingToolApproval, parseStatement } from '@palyra/approvals';
import type { AnsweredOutcome, RememberedRules } from '@palyra/gateway';
import { type ApprovalId, parseId } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';
import { createBell } from '../runs/bell.ts';
import { fitPage } from '../wire/fit-page.ts';
import { humanAnswerOf, wirePendingApproval } from '../wire/pending-approval.ts';
import { invalid } from '../wire/proposal.ts';
import { deciderOf, isHuman } from './human-peer.ts';

export interface ApprovalServiceDeps {
  /** With `record` as answers for always need it. */
  readonly approvals: Approvals & Pick<RememberedRules, 'record'>;
  /** How many bytes of content a message takes. */
  readonly room: number;
}

const DEFAULT_LIMIT = 50;
const MOST = 500;
/** What a question takes besides its prompt. */
const CARD_BYTES = 512;

export function createApprovalService(deps: ApprovalServiceDeps): ServiceImpl<typeof ApprovalService> {
  const { approvals } = deps;
  return {
    async listApprovals({ principal, limit, pageToken }, context) {
      const wanted = visiblePrincipal(peerOf(context), principal);
      const most = Math.min(limit === 0 ? DEFAULT_LIMIT : limit, MOST);
      const after = pageToken === '' ? {} : { after: parseId('approval', pageToken) };
      const cards = await approvals.pending({ limit: most + 1, ...after, ...wanted });
      const shown = fitPage(
        cards.slice(0, most).map(wirePendingApproval),
        deps.room,
        ({ promptJson }) => CARD_BYTES + promptJson.length,
      );
      const next = cards.length > shown.length ? cards[shown.length - 1]?.approvalId : undefined;
      return { approvals: [...shown], nextPageToken: next ?? '' };
    },
    async getApproval({ approvalId }, context) {
      const card = await approvals.get(await approvals.findApproval(approvalId));
      requireVisible(card, peerOf(context));
      return { approval: wirePendingApproval(card) };
    },
    async *watchApprovals(_request, context) {
      const wanted = visiblePrincipal(peerOf(context), '');
      yield* watchCards(approvals, { ...wanted, signal: context.signal });
    },
    async draftDecision({ approvalId, answer }, context) {
      const by = deciderOf(peerOf(context));
      const id = await approvals.findApproval(approvalId);
      return { statement: await approvals.draft(id, { ...humanAnswerOf(answer), by }) };
    },
    async recordDecision({ statement: text, signature }, context) {
      const by = deciderOf(peerOf(context));
      const said = parseStatement(text);
      if (said === undefined)
        throw invalid('This is not a statement about a question.', 'Sign what DraftDecision gave.');
      // SECURITY: T-06 — the connection and the signature are of one device: nobody hands in what another's key signed.
      if (said.credential !== by.credential) {
        throw new DaemonError('daemon.not_permitted', 'The statement is of another device than the connection.', {
          fix: 'Answer with the device that is connected.',
        });
      }
      return wireOutcome(await approvals.record({ text, signature }));
    },
  };
}

/** SECURITY: T-41 — whoever is no person sees the questions of their own principal, and of nobody else. */
function visiblePrincipal(peer: AuthenticatedPeer, asked: string): { readonly principal?: string } {
  const principal = isHuman(peer) ? asked : peer.principal;
  if (asked !== '' && asked !== principal) {
    throw new DaemonError('daemon.not_permitted', 'Only an operator sees the questions of others.');
  }
  return principal === '' ? {} : { principal };
}

function requireVisible({ principal }: PendingToolApproval, peer: AuthenticatedPeer): void {
  if (isHuman(peer) || principal === peer.principal) return;
  throw new DaemonError('daemon.not_permitted', 'Only an operator sees the questions of others.');
}

interface Watching {
  readonly principal?: string;
  readonly signal: AbortSignal;
}

type Change = MessageInitShape<typeof WatchApprovalsResponseSchema>;

/** As many changes wait for a slow watcher; then it is told that it missed some. */
const MOST_CHANGED = 10_000;
const PAGE = 200;

/** All that are open, then each that changes, as it is by then: one that changes often is told once. */
async function* watchCards(
  approvals: Approvals,
  { principal, signal }: Watching,
): AsyncGenerator<Change, void, undefined> {
  const bell = createBell();
  let changed = new Set<ApprovalId>();
  let hasGap = false;
  // Before looking, so that nothing is missed in between.
  const watch = await approvals.watch((event) => {
    if (event.kind === 'gap' || changed.size >= MOST_CHANGED) {
      hasGap = true;
      changed = new Set();
    } else changed.add(event.id);
    bell.ring();
  });
  const isWanted = (card: PendingToolApproval) => principal === undefined || card.principal === principal;
  try {
    const wanted = principal === undefined ? {} : { principal };
    for (let page = await approvals.pending({ limit: PAGE, ...wanted }); page.length > 0; ) {
      for (const card of page) yield { change: { case: 'approval', value: wirePendingApproval(card) } };
      const { approvalId: after } = page.at(-1) as PendingToolApproval;
      page = await approvals.pending({ limit: PAGE, after, ...wanted });
    }
    yield { change: { case: 'caughtUp', value: {} } };
    while (!signal.aborted) {
      const rung = bell.rung();
      if (hasGap) {
        hasGap = false;
        yield { change: { case: 'gap', value: {} } };
      }
      const [id] = changed;
      if (id === undefined) await bell.wait(rung, signal);
      else {
        changed.delete(id);
        const card = await approvals.get(id).catch(() => undefined);
        if (card !== undefined && isWanted(card))
          yield { change: { case: 'approval', value: wirePendingApproval(card) } };
      }
    }
  } finally {
    watch.close();
  }
}

type WireOutcome = MessageInitShape<typeof RecordDecisionResponseSchema>;

function wireOutcome(outcome: AnsweredOutcome): WireOutcome {
  switch (outcome.kind) {
    case 'decided': {
      const { kind, state, grantId = '', released, rule } = outcome;
      const decided = { kind, state, grantId, released: [...released] };
      if (rule === undefined) return decided;
      if (rule.kind === 'in_force') return { ...decided, ruleId: rule.id };
      // It was said, and holds for this call; that it is no rule, and why, is told with it.
      return { ...decided, code: rule.code, message: rule.message };
    }
    case 'counted':
      return { ...outcome, state: 'pending' };
    case 'conflict':
      return outcome;
    case 'refused':
      return { kind: outcome.kind, code: `approvals.${outcome.code}`, message: outcome.reason };
  }
}
