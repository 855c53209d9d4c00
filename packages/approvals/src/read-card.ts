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

export function needsOf(row: ApprovalRow): Needs {
  return parse(row.needs) as Needs;
}

export function effectsOf(row: ApprovalRow): readonly Effect[] {
  return parse(row.effects) as readonly Effect[];
}

export function promptOf(row: ApprovalRow): ApprovalPromptRecord {
  return parse(row.prompt) as ApprovalPromptRecord;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ApprovalError('approvals.corrupt', 'A stored approval is not what we wrote.', { cause });
  }
}
