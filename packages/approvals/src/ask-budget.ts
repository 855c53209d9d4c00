import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import type { Question } from './question.ts';

/** SECURITY: T-47 — an agent that is refused again and again asks nothing for a while, nor joins what others asked. */
export async function coolingDown(
  { subject: { principal } }: Question,
  { database, clock }: ApprovalContext,
): Promise<Refused<'cooling_down'> | undefined> {
  const now = clock.now();
  const cooling = await database.read
    .selectFrom('approval_principals')
    .select('cooling_until')
    .where('principal', '=', principal)
    .where('cooling_until', '>', now)
    .executeTakeFirst();
  if (cooling === undefined) return undefined;
  return refused('cooling_down', `It may ask again in ${inSeconds(cooling.cooling_until - now)}.`);
}

/** SECURITY: T-47 — one that asks all the time stops being put through. */
export async function overBudget(
  { subject: { principal } }: Question,
  { database, clock, limits }: ApprovalContext,
): Promise<Refused<'too_many_pending' | 'too_many_questions'> | undefined> {
  const now = clock.now();
  const mine = database.read.selectFrom('approvals').select('id').where('principal', '=', principal);
  const open = await mine
    .where('state', '=', 'pending')
    .where('expires_at', '>', now)
    .limit(limits.pendingPerPrincipal)
    .execute();
  if (open.length >= limits.pendingPerPrincipal) return refused('too_many_pending');
  const since = now - limits.questionWindowMs;
  const recent = await mine.where('asked_at', '>', since).limit(limits.questionsPerWindow).execute();
  return recent.length >= limits.questionsPerWindow ? refused('too_many_questions') : undefined;
}

function inSeconds(ms: number): string {
  return `${Math.ceil(ms / 1000)} s`;
}
