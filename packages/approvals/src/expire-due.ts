import type { ApprovalContext } from './approval-record.ts';
import { endWithoutYes } from './ended-cards.ts';

const AT_ONCE = 200;

/** Says of every open question whose time is over that it is. Returns how many; another process may be faster. */
export async function expireDue(context: ApprovalContext): Promise<number> {
  let expired = 0;
  for (;;) {
    const due = await context.database.read
      .selectFrom('approvals')
      .select(['id', 'principal', 'session'])
      .where('state', '=', 'pending')
      .where('expires_at', '<=', context.clock.now())
      .orderBy('expires_at')
      .limit(AT_ONCE)
      .execute();
    if (due.length === 0) return expired;
    if (await endWithoutYes(due, { state: 'expired', isOver: true }, context)) expired += due.length;
  }
}
