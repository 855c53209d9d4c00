import type { ApprovalAnswer, Client, DecisionRecorded, PendingApproval, Signer } from '@palyra/client';
import type { HomeLayout } from '@palyra/config';
import { CliError } from '../cli-error.ts';
import { loadIdentity } from '../identity-home.ts';

/** The operator's own key, which stays in this process. Throws `identity.key_missing`. */
export async function openSigner({ identity: directory }: HomeLayout): Promise<Signer> {
  const { openOperatorCredential } = await loadIdentity();
  const { device, key } = openOperatorCredential(directory);
  return { device, sign: (message) => key.sign(message) };
}

export interface AnswerInput {
  readonly shown: PendingApproval;
  readonly answer: ApprovalAnswer;
  readonly signer: Signer;
}

/** Throws `cli.answer_refused`, `cli.answered_already`. */
export async function answerQuestion(
  client: Client,
  { shown, answer, signer }: AnswerInput,
): Promise<DecisionRecorded> {
  const recorded = await client.approvals.decide(shown, answer, signer);
  if (recorded.kind === 'refused') {
    throw new CliError('cli.answer_refused', recorded.message ?? 'The answer does not count.', {
      fix: FIXES[recorded.code ?? ''] ?? 'Look at the question again: palyra inbox.',
    });
  }
  if (recorded.kind === 'conflict') {
    const state =
      recorded.state === 'changed' ? 'It is not what was shown any more' : `It was ${recorded.state} already`;
    throw new CliError('cli.answered_already', `${state}.`, { fix: 'Look at what is open now: palyra inbox.' });
  }
  return recorded;
}

const FIXES: Readonly<Record<string, string>> = {
  'approvals.not_offered': 'Choose one of the scopes that the question offers.',
  'approvals.assurance_too_low': 'Answer from another device, or with a passkey.',
  'approvals.own_proposal': 'Somebody else has to answer: this credential proposed the call.',
  'approvals.same_person': 'Somebody else has to say yes as well.',
};

/** In a line, for a person. */
export function answerInWords({
  kind,
  state,
  approvers,
  needed,
  grant_id,
  rule_id,
  released,
}: DecisionRecorded): string {
  if (kind === 'counted') return `Counted: ${approvers} of ${needed} people have said yes.`;
  const more = [
    ...(grant_id === undefined ? [] : [`grant ${grant_id.slice(-6)}`]),
    ...(rule_id === undefined ? [] : [`rule ${rule_id}`]),
    ...(released.length === 0 ? [] : [`${released.length} more questions answered by it`]),
  ];
  return `${state === 'approved' ? 'Approved' : 'Denied'}${more.length === 0 ? '' : ` (${more.join(', ')})`}.`;
}
