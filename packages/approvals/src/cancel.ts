import { type Step, statement } from '@palyra/storage';
import { ApprovalError } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { Asked } from './asked.ts';
import { endedEvent, toldOfEnd } from './ended-cards.ts';
import { type ApprovalRow, ENDED_CHANNEL } from './store/approvals-schema.ts';

/** Those that no longer want an answer: one call, or all of a run. */
type Leaving = Pick<Asked, 'principal' | 'key'> | { readonly run: string };

/** Somebody no longer wants an answer. The card stays open while others wait for it. */
export async function cancelAsked(
  { principal, key }: Pick<Asked, 'principal' | 'key'>,
  context: ApprovalContext,
): Promise<void> {
  await withdrawAll({ principal, key }, context);
}

/** Everything that a run waits for. */
export async function cancelRun(run: string, context: ApprovalContext): Promise<void> {
  await withdrawAll({ run }, context);
}

/** Card by card, however many of them wait for it. */
async function withdrawAll(leaving: Leaving, context: ApprovalContext): Promise<void> {
  const cards = await askersOf(leaving, context).select('approval_id').distinct().execute();
  for (const { approval_id } of cards) await withdraw(approval_id, leaving, context);
}

function askersOf(leaving: Leaving, { database }: ApprovalContext) {
  const askers = database.read.selectFrom('approval_askers');
  if ('run' in leaving) return askers.where('run', '=', leaving.run);
  return askers.where('principal', '=', leaving.principal).where('key', '=', leaving.key);
}

const TRIES = 20;

async function withdraw(approvalId: string, leaving: Leaving, context: ApprovalContext): Promise<void> {
  const { database, clock, commit, spent } = context;
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const card = await database.read
      .selectFrom('approvals')
      .select(['id', 'principal', 'session', 'state', 'expires_at'])
      .where('id', '=', approvalId)
      .executeTakeFirst();
    // What was answered stays answered, and what ran out ran out; nobody has to use it.
    if (card === undefined || card.state !== 'pending' || card.expires_at <= clock.now()) return;
    const going = await countOf(askersOf(leaving, context).where('approval_id', '=', approvalId));
    if (going === 0) return;
    const all = await countOf(database.read.selectFrom('approval_askers').where('approval_id', '=', approvalId));
    const isLast = all === going;
    const unit = {
      steps: [...leave(card, { leaving, going }, context), isLast ? close(card, context) : stay(card, context)],
      notifications: isLast ? toldOfEnd(card.id) : [{ channel: ENDED_CHANNEL, payload: card.id }],
    };
    const outcome = await commit(unit, isLast ? [endedEvent(card, 'cancelled')] : []);
    if (outcome.kind === 'conflict') continue;
    if (isLast) spent.add(card.id);
    return;
  }
  throw new ApprovalError('approvals.contended', 'A question could not be withdrawn.', {
    fix: 'Try again in a moment.',
  });
}

async function countOf(askers: ReturnType<typeof askersOf>): Promise<number> {
  const { count } = await askers.select((select) => select.fn.countAll().as('count')).executeTakeFirstOrThrow();
  return Number(count);
}

type CardId = Pick<ApprovalRow, 'id'>;

/** The card first: on PostgreSQL its lock makes those who join or answer at the same time come before or after. */
function leave(
  { id }: CardId,
  { leaving, going }: { readonly leaving: Leaving; readonly going: number },
  { database, clock }: ApprovalContext,
): readonly Step[] {
  const stillOpen = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('expires_at', '>', clock.now());
  const askers = database.write.deleteFrom('approval_askers').where('approval_id', '=', id);
  const gone =
    'run' in leaving
      ? askers.where('run', '=', leaving.run)
      : askers.where('principal', '=', leaving.principal).where('key', '=', leaving.key);
  return [statement(stillOpen, { rows: 1 }), statement(gone, { rows: going })];
}

/** Somebody may have joined since we looked. */
function close({ id }: CardId, { database, clock }: ApprovalContext): Step {
  const update = database.write
    .updateTable('approvals')
    .set({ state: 'cancelled', ended_at: clock.now() })
    .where('id', '=', id)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('approval_askers').select('key').where('approval_id', '=', id))),
    );
  return statement(update, { rows: 1 });
}

/** The others may have left since we looked; then this is not for us to leave open. */
function stay({ id }: CardId, { database }: ApprovalContext): Step {
  const update = database.write
    .updateTable('approvals')
    .set({ state: 'pending' })
    .where('id', '=', id)
    .where(({ exists, selectFrom }) =>
      exists(selectFrom('approval_askers').select('key').where('approval_id', '=', id)),
    );
  return statement(update, { rows: 1 });
}
