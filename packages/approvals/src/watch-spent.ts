import type { SubscriptionEvent } from '@palyra/storage';
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { ApprovalContext } from './approval-record.ts';
import { createLooker } from './look-together.ts';
import type { ApprovalsSchema } from './store/approvals-schema.ts';
import { toldId } from './told-id.ts';

/** Learns from other processes what must not be used any more. */
export interface SpentWatch {
  hear(event: SubscriptionEvent): void;
}

/** More than this, and it is shorter to look at all that ended lately. */
const MOST_TO_LOOK_AT = 10_000;
const ALL_OF_LATE = '';

/**
 * SECURITY: T-05, T-39 — being told is only a reason to look: a notice that somebody made up spends nothing. What could not
 * be looked at is found in the rows, or in the record, when it is to be used.
 */
export function createSpentWatch(context: ApprovalContext): SpentWatch {
  const { spent } = context;
  const looker = createLooker(async (ids) => {
    try {
      const found = ids.includes(ALL_OF_LATE) ? await spentLately(context) : await spentAmong(ids, context);
      for (const id of found) spent.add(id);
    } catch {
      // The database is away or closed; then nothing can be used either.
    }
  });
  return {
    hear(event) {
      const id = event.kind === 'gap' ? ALL_OF_LATE : toldId(event.payload);
      if (id === undefined || spent.knows(id)) return;
      looker.look([looker.size < MOST_TO_LOOK_AT ? id : ALL_OF_LATE]);
    },
  };
}

async function spentAmong(ids: readonly string[], { database }: ApprovalContext): Promise<readonly string[]> {
  const cards = await database.read
    .selectFrom('approvals')
    .select('id')
    .where('id', 'in', [...ids])
    .where(isSpentCard)
    .execute();
  const grants = await database.read
    .selectFrom('approval_grants')
    .select('approval_id')
    .where('approval_id', 'in', [...ids])
    .where('state', '!=', 'live')
    .execute();
  return [...cards.map(({ id }) => id), ...grants.map(({ approval_id }) => approval_id)];
}

function isSpentCard(where: ExpressionBuilder<ApprovalsSchema, 'approvals'>): Expression<SqlBool> {
  return where.or([
    where('state', 'in', ['denied', 'expired', 'cancelled', 'superseded']),
    where('used_at', 'is not', null),
  ]);
}

/** For when notices were missed. */
async function spentLately({ database, clock, spentForMs }: ApprovalContext): Promise<readonly string[]> {
  const since = clock.now() - spentForMs;
  const cards = await database.read
    .selectFrom('approvals')
    .select('id')
    .where('ended_at', '>', since)
    .where(isSpentCard)
    .execute();
  const grants = await database.read
    .selectFrom('approval_grants')
    .select('approval_id')
    .where('ended_at', '>', since)
    .where('state', '!=', 'live')
    .execute();
  return [...cards.map(({ id }) => id), ...grants.map(({ approval_id }) => approval_id)];
}
