import type { ApprovalId, Sha256Hex } from '@palyra/primitives';
import type { ApprovalContext } from './approval-record.ts';
import { type ApprovalPromptRecord, promptDigest, promptText } from './prompt/prompt-record.ts';
import { promptOf, readCard } from './read-card.ts';
import type { ApprovalRow, ApprovalState } from './store/approvals-schema.ts';

/** One card, to be shown. What it says was asked is bound to an answer by the digest of the prompt. */
export interface PendingToolApproval {
  readonly approvalId: ApprovalId;
  readonly state: ApprovalState;
  /** As shown. */
  readonly subject: string;
  readonly principal: string;
  readonly session: string;
  readonly workspace: string;
  readonly prompt: ApprovalPromptRecord;
  /** The digest of `prompt`, which an answer to it must carry. */
  readonly shown: Sha256Hex;
  /** How many calls wait for the answer. */
  readonly waiting: number;
  /** How many people have said yes so far. */
  readonly votes: number;
  readonly askedAt: number;
  readonly expiresAt: number;
}

export interface PendingPage {
  /** Only those of this principal. */
  readonly principal?: string;
  /** After this one: ids are in the order of asking. */
  readonly after?: ApprovalId;
  readonly limit: number;
}

/** Open questions, oldest first. */
export async function listPending(
  page: PendingPage,
  context: ApprovalContext,
): Promise<readonly PendingToolApproval[]> {
  let query = context.database.read
    .selectFrom('approvals')
    .selectAll()
    .where('state', '=', 'pending')
    .where('expires_at', '>', context.clock.now());
  if (page.principal !== undefined) query = query.where('principal', '=', page.principal);
  if (page.after !== undefined) query = query.where('id', '>', page.after);
  const rows = await query.orderBy('id').limit(page.limit).execute();
  return cardsOf(rows, context);
}

/** How many are open; they are not read. */
export async function countPending({ database, clock }: ApprovalContext): Promise<number> {
  const counted = await database.read
    .selectFrom('approvals')
    .select(({ fn }) => fn.countAll().as('open'))
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  return Number(counted?.open ?? 0);
}

/** Throws `approvals.not_found`. */
export async function getApproval(id: ApprovalId, context: ApprovalContext): Promise<PendingToolApproval> {
  const [card] = await cardsOf([await readCard(id, context)], context);
  return card as PendingToolApproval;
}

export async function cardsOf(
  rows: readonly ApprovalRow[],
  { database, clock }: ApprovalContext,
): Promise<readonly PendingToolApproval[]> {
  if (rows.length === 0) return [];
  const askers = await database.read
    .selectFrom('approval_askers')
    .select((select) => ['approval_id', select.fn.countAll().as('waiting')])
    .where(
      'approval_id',
      'in',
      rows.map(({ id }) => id),
    )
    .groupBy('approval_id')
    .execute();
  const waiting = new Map(askers.map((each) => [each.approval_id, Number(each.waiting)]));
  return rows.map((row) => viewOf(row, waiting.get(row.id) ?? 0, clock.now()));
}

function viewOf(row: ApprovalRow, waiting: number, now: number): PendingToolApproval {
  const prompt = promptOf(row);
  return {
    approvalId: row.id as ApprovalId,
    state: row.state === 'pending' && row.expires_at <= now ? 'expired' : row.state,
    subject: prompt.what.subject,
    principal: row.principal,
    session: row.session,
    workspace: row.workspace,
    prompt,
    // SECURITY: T-46 — of what is shown and nothing else: a row in another spelling is not what is shown.
    shown: promptDigest(promptText(prompt)),
    waiting,
    votes: row.votes,
    askedAt: row.asked_at,
    expiresAt: row.expires_at,
  };
}
