import type { ApprovalId, GrantId } from '@palyra/primitives';
import { type Step, statement } from '@palyra/storage';
import { scopeOfAll } from './agreed-scope.ts';
import { coverOf, covers } from './approval-effect.ts';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext, ApprovalEvent } from './approval-record.ts';
import { type GrantPattern, parseStatement } from './decision-statement.ts';
import type { Permit, PermitOutcome } from './permit.ts';
import { ASSURANCES, checkQuestion, type Needs, type Question } from './question.ts';
import { readPrompts, readVotes } from './read-card.ts';
import type { GrantRow, VoteRow } from './store/approvals-schema.ts';
import { type VerifiedStanding, verifyStanding } from './verify-standing.ts';

/** A standing yes whose signatures were verified just now. */
export interface VerifiedGrant extends VerifiedStanding {
  readonly row: GrantRow;
}

/** What grants rest on, as it was read. */
export interface GrantBasis {
  readonly votes: readonly VoteRow[];
  readonly prompts: ReadonlyMap<string, string>;
}

/** A permit by standing grants that cover everything the call does outside its box, together; or why there is none. */
export async function coveringGrants(question: Question, context: ApprovalContext): Promise<PermitOutcome> {
  checkQuestion(question);
  // SECURITY: T-11 — asked of the policies of now: what they offer once only, no older yes answers.
  if (question.needs.offer === 'once') return refused('stricter_policy');
  const { rows, basis } = await readLive(question, context);
  if (rows.length === 0) return refused('not_approved');
  // SECURITY: T-39 — what no row even speaks of is not looked for in each of them.
  const said = new Map(rows.map((row) => [row, patternsSaid(row, basis.votes).flatMap(({ effects }) => effects)]));
  if (!covers([...said.values()].flat(), question.effects)) return refused('not_approved');
  const used: VerifiedGrant[] = [];
  let missing = question.effects;
  for (const row of rows) {
    // Verifying takes longer than reading: only what would help is verified.
    if (!missing.some(coverOf(said.get(row) ?? []))) continue;
    const expected = { proposer: question.credential, needs: question.needs };
    // SECURITY: T-46 — by what was signed: a row can be given another id.
    const [isSpent, grant] = await Promise.all([
      context.spent.has(row.approval_id),
      verifyGrant(row, basis, expected, context),
    ]);
    if (isSpent || grant.kind === 'refused' || !isFor(grant.pattern, question)) continue;
    used.push(grant);
    const isCovered = coverOf(grant.pattern.effects);
    missing = missing.filter((effect) => !isCovered(effect));
  }
  const effects = used.flatMap(({ pattern }) => pattern.effects);
  return covers(effects, question.effects) ? permitBy(used, context) : refused('not_approved');
}

export async function readBasis(rows: readonly GrantRow[], context: ApprovalContext): Promise<GrantBasis> {
  const ids = rows.map(({ approval_id }) => approval_id);
  return { votes: await readVotes(ids, context), prompts: await readPrompts(ids, context) };
}

export async function verifyGrant(
  row: GrantRow,
  { votes, prompts }: GrantBasis,
  expected: { readonly proposer: string; readonly needs: Needs },
  context: ApprovalContext,
): Promise<VerifiedGrant | Refused> {
  const approvalId = row.approval_id;
  const own = votes.filter(({ approval_id }) => approval_id === approvalId);
  const standing = { approvalId, prompt: prompts.get(approvalId), votes: own };
  const verified = await verifyStanding(standing, expected, context);
  return verified.kind === 'refused' ? verified : { ...verified, row };
}

interface LiveGrants {
  readonly rows: readonly GrantRow[];
  readonly basis: GrantBasis;
}

/** Asked for together, as one journey to the database: a call waits for all of it. */
async function readLive({ subject }: Question, { database, clock }: ApprovalContext): Promise<LiveGrants> {
  const now = clock.now();
  const live = database.read
    .selectFrom('approval_grants')
    .where('principal', '=', subject.principal)
    .where('workspace', '=', subject.workspace)
    .where('state', '=', 'live')
    .where('expires_at', '>', now)
    .where((where) => where.or([where('session', 'is', null), where('session', '=', subject.session)]));
  const ids = live.select('approval_id');
  const votes = database.read.selectFrom('approval_votes').selectAll().where('approval_id', 'in', ids);
  const prompts = database.read.selectFrom('approvals').select(['id', 'prompt']).where('id', 'in', ids);
  const [rows, cast, shown] = await Promise.all([
    live.selectAll().orderBy('issued_at', 'desc').execute(),
    votes.execute(),
    prompts.execute(),
  ]);
  return { rows, basis: { votes: cast, prompts: new Map(shown.map(({ id, prompt }) => [id, prompt])) } };
}

/** By whoever wrote the rows. */
function patternsSaid({ approval_id }: GrantRow, votes: readonly VoteRow[]): readonly GrantPattern[] {
  const own = votes.filter((vote) => vote.approval_id === approval_id);
  return own.flatMap((vote) => parseStatement(vote.statement)?.pattern ?? []);
}

function isFor({ principal, workspace, session }: GrantPattern, { subject }: Question): boolean {
  if (principal !== subject.principal || workspace !== subject.workspace) return false;
  return session === null || session === subject.session;
}

export function permitBy(grants: readonly VerifiedGrant[], context: ApprovalContext): Permit {
  const all = grants.map(({ yes }) => yes);
  const statements = all.flatMap((yes) => yes.statements);
  return {
    kind: 'permitted',
    approvalIds: grants.map(({ row }) => row.approval_id as ApprovalId),
    grantIds: grants.map(({ row }) => row.id as GrantId),
    scope: scopeOfAll(grants[0]?.yes.statements ?? []).scope,
    approval: {
      approvers: Math.min(...all.map((yes) => yes.statements.length)),
      assurance: ASSURANCES.find((each) => all.some(({ assurance }) => assurance === each)) ?? 'same_host_key',
    },
    deciders: statements.map(({ decider, device, assurance }) => ({ person: decider, device, assurance })),
    statements: all.flatMap((yes) => yes.signed),
    notAfter: Math.min(...grants.map(({ notAfter, row }) => Math.min(notAfter, row.expires_at))),
    steps: grants.map(({ row }) => useGrant(row, context)),
    events: grants.map(usedGrant),
    notifications: [],
  };
}

/** SECURITY: T-05 — live in the very transaction that records the use, or the call does not begin. */
function useGrant({ approval_id }: GrantRow, { database, clock }: ApprovalContext): Step {
  const now = clock.now();
  const update = database.write
    .updateTable('approval_grants')
    .set((set) => ({ uses: set('uses', '+', 1), last_used_at: now }))
    .where('approval_id', '=', approval_id)
    .where('state', '=', 'live')
    .where('expires_at', '>', now);
  return statement(update, { rows: 1 });
}

function usedGrant({ row, pattern: { principal } }: VerifiedGrant): ApprovalEvent {
  const [grantId, approvalId] = [row.id as GrantId, row.approval_id as ApprovalId];
  return { kind: 'grant', change: 'used', grantId, approvalId, principal, expiresAt: row.expires_at };
}
