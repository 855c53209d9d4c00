import { statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';

const AT_ONCE = 200;

/**
 * Removes what ended before, with its votes, grants and keys; the journal keeps the record. What a live grant rests on
 * stays, unless its prompt was erased. An approval that is gone approves nothing, so this can only take away.
 */
export async function forgetEnded(before: number, context: ApprovalContext): Promise<number> {
  let forgotten = await forgetErased(context);
  for (;;) {
    const ids = await endedBefore(before, context);
    if (ids.length === 0) return forgotten;
    await remove(ids, context);
    forgotten += ids.length;
  }
}

async function endedBefore(before: number, { database, clock }: ApprovalContext): Promise<readonly string[]> {
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
  return ended.map(({ id }) => id);
}

/**
 * SECURITY: T-54 — a card has the words of its prompt, which are to be nowhere once they were erased from the record.
 * Whoever waits for the answer to an open one still does; it goes when it has ended.
 */
async function forgetErased(context: ApprovalContext): Promise<number> {
  const { database } = context;
  const erased = await context.erasedPrompts();
  let forgotten = 0;
  for (let at = 0; at < erased.length; at += AT_ONCE) {
    const cards = await database.read
      .selectFrom('approvals')
      .select('id')
      .where('id', 'in', erased.slice(at, at + AT_ONCE))
      .where('state', '!=', 'pending')
      .execute();
    if (cards.length === 0) continue;
    await remove(
      cards.map(({ id }) => id),
      context,
    );
    forgotten += cards.length;
  }
  // Until then they are still in the write-ahead log.
  if (forgotten > 0) await database.scrub();
  return forgotten;
}

async function remove(ids: readonly string[], { database }: ApprovalContext): Promise<void> {
  const { write } = database;
  await database.commit({
    steps: [
      statement(write.deleteFrom('approval_askers').where('approval_id', 'in', ids)),
      statement(write.deleteFrom('approval_votes').where('approval_id', 'in', ids)),
      statement(write.deleteFrom('approval_grants').where('approval_id', 'in', ids)),
      statement(write.deleteFrom('approvals').where('id', 'in', ids)),
    ],
  });
}
