import { change, type ProgramRun, rowsOf, type WriterProgram } from '@palyra/storage';
import type { Kysely } from 'kysely';
import type { ApprovalLimits } from '../approval-limits.ts';
import type { ApprovalRow, ApprovalsSchema, AskerRow } from './approvals-schema.ts';

export const ASK_PROGRAM = 'approvals.ask';

export interface AskInput {
  readonly card: ApprovalRow;
  readonly asker: AskerRow;
  readonly limits: ApprovalLimits;
}

/**
 * Opens a card, or makes the whole unit a conflict when there is a reason not to; the caller then reads which. In the
 * writer, one at a time, so that neither two equal cards nor one too many can slip in between looking and writing.
 */
const askProgram: WriterProgram<AskInput, void> = {
  name: ASK_PROGRAM,
  *run(untyped, input) {
    const build = untyped as unknown as Kysely<ApprovalsSchema>;
    const reason = yield* reasonNotToAsk(build, input);
    if (reason !== undefined) yield* giveUp(build);
    yield* change(build.insertInto('approvals').values(input.card), 1);
    yield* change(build.insertInto('approval_askers').values(input.asker), 1);
  },
};

export default askProgram;

function* reasonNotToAsk(build: Kysely<ApprovalsSchema>, input: AskInput): ProgramRun<string | undefined> {
  const { card, asker, limits } = input;
  const key = build
    .selectFrom('approval_askers')
    .select('approval_id')
    .where('principal', '=', asker.principal)
    .where('key', '=', asker.key);
  if ((yield* rowsOf(key)).length > 0) return 'resumed';

  const cooling = build
    .selectFrom('approval_principals')
    .select('principal')
    .where('principal', '=', card.principal)
    .where('cooling_until', '>', card.asked_at);
  if ((yield* rowsOf(cooling)).length > 0) return 'cooling';

  const cards = build.selectFrom('approvals').select('id');
  const equal = cards.where('asks', '=', card.asks).where('state', '=', 'pending');
  if ((yield* rowsOf(equal)).length > 0) return 'joined';
  const same = cards.where('subject', '=', card.subject);
  const denied = same.where('state', '=', 'denied').where('ended_at', '>', card.asked_at - limits.denialHoldsMs);
  if ((yield* rowsOf(denied.limit(1))).length > 0) return 'denied';

  // SECURITY: T-47 — counted where it is written, so that a flood of questions at once gets no further than one by one.
  const mine = build.selectFrom('approvals').select('id').where('principal', '=', card.principal);
  const open = mine
    .where('state', '=', 'pending')
    .where('expires_at', '>', card.asked_at)
    .limit(limits.pendingPerPrincipal);
  if ((yield* rowsOf(open)).length >= limits.pendingPerPrincipal) return 'pending';
  const since = card.asked_at - limits.questionWindowMs;
  const recent = mine.where('asked_at', '>', since).limit(limits.questionsPerWindow);
  return (yield* rowsOf(recent)).length >= limits.questionsPerWindow ? 'questions' : undefined;
}

/** A change that finds no row is how a program says: nothing of this unit. */
function* giveUp(build: Kysely<ApprovalsSchema>): ProgramRun<void> {
  yield* change(build.deleteFrom('approvals').where('id', '=', ''), 1);
}
