import { scopeOfAll } from './agreed-scope.ts';
import { covers } from './approval-effect.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type GrantPattern, parseStatement } from './decision-statement.ts';
import { effectsOf, needsOf } from './read-card.ts';
import type { ApprovalRow, VoteRow } from './store/approvals-schema.ts';
import { verifyStanding } from './verify-standing.ts';

/** The open cards that a new grant answers: those whose every caller could use it now, by the rules of using it. */
export async function releasedCards(
  card: ApprovalRow,
  votes: readonly VoteRow[],
  context: ApprovalContext,
): Promise<readonly ApprovalRow[]> {
  const statements = votes.flatMap((vote) => parseStatement(vote.statement) ?? []);
  const { scope } = scopeOfAll(statements);
  const pattern = statements[0]?.pattern ?? null;
  if (pattern === null || (scope !== 'session' && scope !== 'timeboxed')) return [];
  const others = (await openCards(card, pattern, context)).filter((other) => mightCover(pattern, other));
  if (others.length === 0) return [];
  const proposers = await proposersOf(others, context);
  const released: ApprovalRow[] = [];
  for (const other of others) {
    const all = new Set([other.credential, ...(proposers.get(other.id) ?? [])]);
    if (await isGoodFor({ card, votes, other, proposers: all }, context)) released.push(other);
  }
  return released;
}

/** All of them: there are no more than a principal may have open. */
function openCards(
  { id }: ApprovalRow,
  { principal, workspace }: GrantPattern,
  { database, clock }: ApprovalContext,
): Promise<readonly ApprovalRow[]> {
  return (
    database.read
      .selectFrom('approvals')
      .selectAll()
      .where('principal', '=', principal)
      .where('workspace', '=', workspace)
      .where('state', '=', 'pending')
      // SECURITY: T-05 — a question whose time is over stays over, though nobody has said so yet.
      .where('expires_at', '>', clock.now())
      .where('id', '!=', id)
      .execute()
  );
}

function mightCover({ session, effects }: GrantPattern, other: ApprovalRow): boolean {
  const isTheirs = session === null || session === other.session;
  return isTheirs && needsOf(other).offer !== 'once' && covers(effects, effectsOf(other));
}

async function proposersOf(
  cards: readonly ApprovalRow[],
  { database }: ApprovalContext,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = cards.map(({ id }) => id);
  const query = database.read.selectFrom('approval_askers').select(['approval_id', 'credential']);
  const askers = await query.where('approval_id', 'in', ids).execute();
  const byCard = Map.groupBy(askers, ({ approval_id }) => approval_id);
  return new Map(Array.from(byCard, ([id, all]) => [id, all.map(({ credential }) => credential)]));
}

interface Releasing {
  readonly card: ApprovalRow;
  readonly votes: readonly VoteRow[];
  readonly other: ApprovalRow;
  readonly proposers: ReadonlySet<string>;
}

/** SECURITY: T-06, T-11 — with that card's own needs, and for nobody who would be answering their own question. */
async function isGoodFor({ card, votes, other, proposers }: Releasing, context: ApprovalContext): Promise<boolean> {
  const standing = { approvalId: card.id, prompt: card.prompt, votes };
  for (const proposer of proposers) {
    const verified = await verifyStanding(standing, { proposer, needs: needsOf(other) }, context);
    if (verified.kind === 'refused') return false;
  }
  return true;
}
