import type { ApprovalId } from '@palyra/primitives';
import { statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';
import { ENDED_CHANNEL } from './store/approvals-schema.ts';

const AT_ONCE = 200;

/** Says of every open question whose time is over that it is. Returns how many; another process may be faster. */
export async function expireDue({ database, clock, commit }: ApprovalContext): Promise<number> {
  let expired = 0;
  for (;;) {
    const now = clock.now();
    const due = await database.read
      .selectFrom('approvals')
      .select(['id', 'principal', 'session'])
      .where('state', '=', 'pending')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(AT_ONCE)
      .execute();
    if (due.length === 0) return expired;
    const ids = due.map(({ id }) => id);
    const end = database.write
      .updateTable('approvals')
      .set({ state: 'expired', ended_at: now })
      .where('id', 'in', ids)
      .where('state', '=', 'pending');
    const outcome = await commit(
      {
        // All that were read, or the record would tell of one that ended otherwise: then they are read again.
        steps: [statement(end, { rows: ids.length })],
        notifications: ids.map((id) => ({ channel: ENDED_CHANNEL, payload: id })),
      },
      due.map(({ id, principal, session }) => ({
        kind: 'decided',
        approvalId: id as ApprovalId,
        principal,
        session,
        outcome: 'expired',
      })),
    );
    if (outcome.kind === 'committed') expired += ids.length;
  }
}
