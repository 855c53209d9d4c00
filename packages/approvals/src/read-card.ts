import type { ApprovalId } from '@palyra/primitives';
import type { Effect } from './approval-effect.ts';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { ApprovalPromptRecord } from './prompt/prompt-record.ts';
import type { Needs } from './question.ts';
import type { ApprovalRow, VoteRow } from './store/approvals-schema.ts';

/** Throws `approvals.not_found`. */
export async function readCard(id: ApprovalId, context: Pick<ApprovalContext, 'database'>): Promise<ApprovalRow> {
  const row = await findCard(id, context);
  if (row !== undefined) return row;
  throw new ApprovalError('approvals.not_found', 'There is no approval with this id.', {
    fix: 'List the open questions with palyra inbox.',
  });
}

export function findCard(
  id: string,
  { database }: Pick<ApprovalContext, 'database'>,
): Promise<ApprovalRow | undefined> {
  return database.read.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst();
}

export function readVotes(ids: readonly string[], { database }: Pick<ApprovalContext, 'database'>): Promise<VoteRow[]> {
  return database.read
    .selectFrom('approval_votes')
    .selectAll()
    .where('approval_id', 'in', [...ids])
    .execute();
}

/** As shown. SECURITY: T-46 — from the prompt, which every answer signs, and not from a column beside it. */
export function needsOf(row: Pick<ApprovalRow, 'prompt'>): Needs {
  const { approvers, assurance, offer, holds_ms } = promptOf(row).needs;
  return { approvers, assurance, offer, ...(holds_ms === null ? {} : { holdsMs: holds_ms }) };
}

/** For finding what might be covered, no more: nothing is decided by this column. */
export function effectsOf(row: ApprovalRow): readonly Effect[] {
  return parse(row.effects) as readonly Effect[];
}

export function promptOf(row: Pick<ApprovalRow, 'prompt'>): ApprovalPromptRecord {
  return parse(row.prompt) as ApprovalPromptRecord;
}

/** The prompts that grants rest on, by approval. */
export async function readPrompts(
  ids: readonly string[],
  { database }: Pick<ApprovalContext, 'database'>,
): Promise<ReadonlyMap<string, string>> {
  const rows = await database.read
    .selectFrom('approvals')
    .select(['id', 'prompt'])
    .where('id', 'in', [...ids])
    .execute();
  return new Map(rows.map(({ id, prompt }) => [id, prompt]));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApprovalError('approvals.corrupt', 'A stored approval is not what we wrote.', { cause });
  }
}
