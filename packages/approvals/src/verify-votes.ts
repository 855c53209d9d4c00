import { type Refused, refused } from './approval-error.ts';
import type { ApprovalContext } from './approval-record.ts';
import { type DecisionStatement, parseStatement, type SignedStatement, signedBytes } from './decision-statement.ts';
import { ASSURANCES, type Assurance, isBelow, type Needs } from './question.ts';
import type { VoteRow } from './store/approvals-schema.ts';

/** What humans really said, found out anew from their signatures. */
export interface VerifiedYes {
  readonly kind: 'yes';
  /** One of each person. */
  readonly statements: readonly DecisionStatement[];
  readonly signed: readonly SignedStatement[];
  /** How sure we are of the one we are least sure of. */
  readonly assurance: Assurance;
}

export interface ExpectedVotes {
  readonly approvalId: string;
  /** The credential on whose behalf it runs now. */
  readonly proposer: string;
  readonly needs: Pick<Needs, 'approvers' | 'assurance'>;
}

export type VotesRefusal =
  | 'not_approved'
  | 'approval_expired'
  | 'too_few_people'
  | 'assurance_too_low'
  | 'own_proposal';

/** Nothing in the rows is believed but what a credential signed that counts today. */
export async function verifyVotes(
  rows: readonly VoteRow[],
  expected: ExpectedVotes,
  context: ApprovalContext,
): Promise<VerifiedYes | Refused<VotesRefusal>> {
  const counted: CountedVote[] = [];
  for (const row of rows) {
    const vote = await countVote(row, expected, context);
    if (vote === undefined) continue;
    // SECURITY: T-05 — one person's no is not outvoted, whatever was written over the card since.
    if (vote.said.decision === 'deny') return refused('not_approved');
    // SECURITY: T-06 — people are counted, not credentials, devices or rows.
    if (!counted.some(({ said }) => said.decider === vote.said.decider)) counted.push(vote);
  }
  return judge(counted, expected, context);
}

export interface CountedVote {
  readonly said: DecisionStatement;
  readonly signed: SignedStatement;
  readonly assurance: Assurance;
}

/** What one row is worth: nothing, or a no or yes of somebody who counts today. */
export async function countVote(
  { statement: text, signature }: VoteRow,
  { approvalId }: Pick<ExpectedVotes, 'approvalId'>,
  { origin, verify }: ApprovalContext,
): Promise<CountedVote | undefined> {
  const said = parseStatement(text);
  // SECURITY: T-46 — a statement counts for its own question, in its own home.
  if (said === undefined || said.origin !== origin || said.approval_id !== approvalId) return undefined;
  const signed = { text, signature: new Uint8Array(signature) };
  // SECURITY: T-46 — rows can be written by whoever reaches the database; signatures cannot.
  const signer = await verify({
    credential: said.credential,
    message: signedBytes(text),
    signature: signed.signature,
  });
  if (signer === undefined || signer.kind !== 'human' || signer.person !== said.decider) return undefined;
  const assurance = isBelow(signer.assurance, said.assurance) ? signer.assurance : said.assurance;
  return { said, signed, assurance };
}

function judge(
  counted: readonly CountedVote[],
  { proposer, needs }: ExpectedVotes,
  { clock }: ApprovalContext,
): VerifiedYes | Refused<VotesRefusal> {
  if (counted.length === 0) return refused('not_approved');
  const now = clock.now();
  const valid = counted.filter(({ said }) => said.expires_at > now);
  if (valid.length === 0) return refused('approval_expired');
  // SECURITY: T-06 — looked at again now: the credential that runs it may not be the one that first asked.
  if (valid.some(({ said }) => said.credential === proposer)) return refused('own_proposal');
  const sure = valid.filter(({ assurance }) => !isBelow(assurance, needs.assurance));
  if (sure.length === 0) return refused('assurance_too_low');
  if (sure.length < needs.approvers) return refused('too_few_people');
  return {
    kind: 'yes',
    statements: sure.map(({ said }) => said),
    signed: sure.map(({ signed }) => signed),
    assurance: ASSURANCES.find((each) => sure.some(({ assurance }) => assurance === each)) ?? 'same_host_key',
  };
}
