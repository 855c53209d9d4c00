import type { ApprovalId, GrantId } from '@palyra/primitives';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';

const WHOLE = 26;
const SHORTEST = 4;

/** The one that was meant, by its id or the last four or more characters. Throws `approvals.not_found`, `.ambiguous_id`. */
export function findApproval(typed: string, context: ApprovalContext): Promise<ApprovalId> {
  return find({ table: 'approvals', what: 'question', list: 'palyra inbox' }, typed, context) as Promise<ApprovalId>;
}

/** The same for a grant. */
export function findGrant(typed: string, context: ApprovalContext): Promise<GrantId> {
  return find(
    { table: 'approval_grants', what: 'grant', list: 'palyra grants list' },
    typed,
    context,
  ) as Promise<GrantId>;
}

interface Sought {
  readonly table: 'approvals' | 'approval_grants';
  readonly what: string;
  readonly list: string;
}

async function find({ table, what, list }: Sought, typed: string, { database }: ApprovalContext): Promise<string> {
  const wanted = typed.toUpperCase();
  const isSought = /^[0-9A-HJKMNP-TV-Z]+$/.test(wanted) && wanted.length >= SHORTEST && wanted.length <= WHOLE;
  const rows = isSought
    ? await database.read.selectFrom(table).select('id').where('id', 'like', `%${wanted}`).limit(2).execute()
    : [];
  const [only, another] = rows;
  if (only === undefined) {
    throw new ApprovalError('approvals.not_found', `There is no ${what} with this id.`, {
      fix: `Give its id, or the last ${SHORTEST} or more characters, as \`${list}\` has it.`,
    });
  }
  if (another === undefined) return only.id;
  throw new ApprovalError('approvals.ambiguous_id', `The ids of several ${what}s end so.`, { fix: 'Give more of it.' });
}
