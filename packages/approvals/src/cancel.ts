import type { ApprovalId } from '@palyra/primitives';
import { type Step, statement } from '@palyra/storage';
import type { ApprovalContext } from './approval-record.ts';
import type { Asked } from './ask.ts';
import { findCard } from './read-card.ts';
import { type AskerRow, ENDED_CHANNEL } from './store/approvals-schema.ts';

/** Somebody no longer wants an answer. The card stays open while others wait for it. */
export async function cancelAsked(
  { principal, key }: Pick<Asked, 'principal' | 'key'>,
  context: ApprovalContext,
): Promise<void> {
  const asker = await context.database.read
    .selectFrom('approval_askers')
    .selectAll()
    .where('principal', '=', principal)
    .where('key', '=', key)
    .executeTakeFirst();
  if (asker !== undefined) await withdraw(asker, context);
}

/** Everything that a run waits for. */
export async function cancelRun(run: string, context: ApprovalContext): Promise<void> {
  const askers = await context.database.read.selectFrom('approval_askers').selectAll().where('run', '=', run).execute();
  for (const asker of askers) await withdraw(asker, context);
}

const TRIES = 20;

async function withdraw(asker: AskerRow, context: ApprovalContext): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const card = await findCard(asker.approval_id, context);
    // What was answered stays answered, and what ran out ran out; nobody has to use it.
    if (card === undefined || card.state !== 'pending' || card.expires_at <= context.clock.now()) return;
    const others = await othersWaiting(asker, context);
    const { principal, session } = card;
    const approvalId = card.id as ApprovalId;
    const outcome = await context.commit(
      {
        steps: others > 0 ? leave(asker, context) : leaveAndClose(asker, context),
        notifications: [{ channel: ENDED_CHANNEL, payload: card.id }],
      },
      others > 0 ? [] : [{ kind: 'decided', approvalId, principal, session, outcome: 'cancelled' }],
    );
    if (outcome.kind === 'committed') return;
  }
}

async function othersWaiting(
  { approval_id, key, principal }: AskerRow,
  { database }: ApprovalContext,
): Promise<number> {
  const askers = await database.read
    .selectFrom('approval_askers')
    .select(['principal', 'key'])
    .where('approval_id', '=', approval_id)
    .execute();
  return askers.filter((other) => other.key !== key || other.principal !== principal).length;
}

/** The card first: on PostgreSQL its lock makes those who join or answer at the same time come before or after. */
function leave({ approval_id, principal, key }: AskerRow, { database, clock }: ApprovalContext): readonly Step[] {
  const stillOpen = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', approval_id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now());
  const gone = database.write.deleteFrom('approval_askers').where('principal', '=', principal).where('key', '=', key);
  return [statement(stillOpen, { rows: 1 }), statement(gone, { rows: 1 })];
}

function leaveAndClose(asker: AskerRow, context: ApprovalContext): readonly Step[] {
  const { database, clock } = context;
  const close = database.write
    .updateTable('approvals')
    .set({ state: 'cancelled', ended_at: clock.now() })
    .where('id', '=', asker.approval_id)
    .where('state', '=', 'pending')
    // Somebody may have joined since we looked.
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('approval_askers').select('key').where('approval_id', '=', asker.approval_id))),
    );
  return [...leave(asker, context), statement(close, { rows: 1 })];
}
