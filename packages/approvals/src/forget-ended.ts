import { statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';

const AT_ONCE = 200;

/**
 * Removes what ended before, with its votes, grants and keys; the journal keeps the record. What a live grant rests on
 * stays. An approval that is gone approves nothing, so this can only take away.
 */
export async function forgetEnded(before: number, { database, clock }: ApprovalContext): Promise<number> {
  let forgotten = 0;
  for (;;) {
    const ended = await database.read
      .selectFrom('approvals')
      .select('id')
      .where('ended_at', '<', before)
      .where('state', '!=', 'pending')
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('approval_grants')
              .select('approval_grants.id')
              .whereRef('approval_grants.approval_id', '=', 'approvals.id')
              .where('approval_grants.state', '=', 'live')
              .where('approval_grants.expires_at', '>', clock.now()),
          ),
        ),
      )
      .limit(AT_ONCE)
      .execute();
    if (ended.length === 0) return forgotten;
    const ids = ended.map(({ id }) => id);
    const { write } = database;
    await database.commit({
      steps: [
        statement(write.deleteFrom('approval_askers').where('approval_id', 'in', ids)),
        statement(write.deleteFrom('approval_votes').where('approval_id', 'in', ids)),
        statement(write.deleteFrom('approval_grants').where('approval_id', 'in', ids)),
        statement(write.deleteFrom('approvals').where('id', 'in', ids)),
      ],
    });
    forgotten += ids.length;
  }
}
