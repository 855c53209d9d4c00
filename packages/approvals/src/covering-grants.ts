import type { ApprovalId, GrantId } from '@palyra/primitives';
import { type Step, statement } from '@palyra/storage';
import { scopeOfAll } from './agreed-scope.ts';
import { covers, type Effect } from './approval-effect.ts';
import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type GrantPattern, parseStatement } from './decision-statement.ts';
import type { Permit, PermitOutcome } from './permit.ts';
import { ASSURANCES, checkQuestion, type Needs, type Question } from './question.ts';
import { readVotes } from './read-card.ts';
import type { GrantRow, VoteRow } from './store/approvals-schema.ts';
import { type VerifiedYes, verifyVotes } from './verify-votes.ts';

/** A standing yes whose signatures were verified just now. */
export interface VerifiedGrant {
  readonly row: GrantRow;
  readonly pattern: GrantPattern;
  readonly yes: VerifiedYes;
}

/** A permit by standing grants that cover everything the call does outside its box, together; or why there is none. */
export async function coveringGrants(question: Question, context: ApprovalContext): Promise<PermitOutcome> {
  checkQuestion(question);
  // SECURITY: T-11 — asked of the policies of now: what they offer once only, no older yes answers.
  if (question.needs.offer === 'once') return refused('stricter_policy');
  const rows = await liveGrants(question, context);
  if (rows.length === 0) return refused('not_approved');
  const votes = await readVotes(
    rows.map(({ approval_id }) => approval_id),
    context,
  );
  const used: VerifiedGrant[] = [];
  for (const row of rows) {
    const missing = question.effects.filter((effect) => !isCovered(used, effect));
    // Verifying takes longer than reading: only what would help is verified.
    if (!patternsSaid(row, votes).some((pattern) => missing.some((effect) => coversOne(pattern, effect)))) continue;
    if (await context.spent.has(row.id)) continue;
    const grant = await verifyGrant(row, votes, { proposer: question.credential, needs: question.needs }, context);
    if (grant.kind === 'valid' && isFor(grant.pattern, question)) used.push(grant);
  }
  const effects = used.flatMap(({ pattern }) => pattern.effects);
  return covers(effects, question.effects) ? permitBy(used, context) : refused('not_approved');
}

export async function verifyGrant(
  row: GrantRow,
  votes: readonly VoteRow[],
  expected: { readonly proposer: string; readonly needs: Needs },
  context: ApprovalContext,
): Promise<({ readonly kind: 'valid' } & VerifiedGrant) | Refused> {
  const approvalId = row.approval_id;
  const own = votes.filter(({ approval_id }) => approval_id === approvalId);
  const yes = await verifyVotes(own, { approvalId, ...expected }, context);
  if (yes.kind === 'refused') return yes;
  // SECURITY: T-46 — what it covers, for whom and for how long is what was signed; the row is only how it is found.
  const { scope } = scopeOfAll(yes.statements);
  const pattern = yes.statements[0]?.pattern ?? null;
  if (pattern === null || (scope !== 'session' && scope !== 'timeboxed')) return refused('not_approved');
  const { holdsMs } = expected.needs;
  const begun = Math.min(...yes.statements.map(({ decided_at }) => decided_at));
  // SECURITY: T-11 — a policy that lets answers hold for less time than before means this one too.
  if (holdsMs !== undefined && begun + holdsMs <= context.clock.now()) return refused('stricter_policy');
  return { kind: 'valid', row, pattern, yes };
}

async function liveGrants({ subject }: Question, { database, clock }: ApprovalContext): Promise<readonly GrantRow[]> {
  return database.read
    .selectFrom('approval_grants')
    .selectAll()
    .where('principal', '=', subject.principal)
    .where('workspace', '=', subject.workspace)
    .where('state', '=', 'live')
    .where('expires_at', '>', clock.now())
    .where((where) => where.or([where('session', 'is', null), where('session', '=', subject.session)]))
    .orderBy('issued_at', 'desc')
    .execute();
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

function coversOne({ effects }: GrantPattern, effect: Effect): boolean {
  return covers(effects, [effect]);
}

function isCovered(used: readonly VerifiedGrant[], effect: Effect): boolean {
  return used.some(({ pattern }) => coversOne(pattern, effect));
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
    steps: grants.map(({ row }) => useGrant(row, context)),
    notifications: [],
  };
}

/** SECURITY: T-05 — live and in time in the very transaction that records the use, or the call does not begin. */
function useGrant({ id }: GrantRow, { database, clock }: ApprovalContext): Step {
  const now = clock.now();
  const update = database.write
    .updateTable('approval_grants')
    .set((set) => ({ uses: set('uses', '+', 1), last_used_at: now }))
    .where('id', '=', id)
    .where('state', '=', 'live')
    .where('expires_at', '>', now);
  return statement(update, { rows: 1 });
}
