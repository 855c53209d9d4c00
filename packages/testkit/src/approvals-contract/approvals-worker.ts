import type { Approvals, Asked, Question } from '@palyra/approvals';
import { acknowledge } from '../acknowledge.ts';
import { createFakeCredentials } from '../fake-credentials.ts';
import { decideAsShown } from './answer-as-shown.ts';
import { openApprovalsHome, usePermit } from './approvals-home.ts';
import { sampleQuestion } from './sample-questions.ts';

/**
 * A process of its own: `approvals-worker.ts LOCATION LABEL LANES COUNT`. It prints each step of each call once the
 * database has acknowledged it, and not before. Calls end in every way there is, one after the other.
 */
const [location = '', label = '', lanes = '1', count = '1'] = process.argv.slice(2);

const credentials = createFakeCredentials();
const ada = credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
const limits = { questionsPerWindow: 1_000_000 };
await using home = await openApprovalsHome(JSON.parse(location), { credentials, limits });
/** Whose questions run out at once. */
await using hasty = await openApprovalsHome(JSON.parse(location), {
  credentials,
  limits: { ...limits, questionMs: 1 },
});
const { approvals } = home;
const WAYS = [useOnce, deny, releaseAndRevoke, cancel, expire] as const;
await Promise.all(Array.from({ length: Number(lanes) }, (_, lane) => callAll(`agent:${label} ${lane}`)));

async function callAll(principal: string): Promise<void> {
  for (let call = 0; call < Number(count); call += 1) {
    const key = `${principal} ${call}`;
    await WAYS[call % WAYS.length]?.(sampleQuestion({ key, principal, argv: [`${call}`] }));
  }
}

async function useOnce(question: Question): Promise<void> {
  const asked = await ask(approvals, question);
  const answer = approvals.wait(asked);
  await decideAsShown(approvals, asked.approvalId, { decision: 'approve', scope: 'once', by: ada });
  tell('approved', asked);
  if ((await answer).kind !== 'approved') throw new Error('The answer did not arrive.');
  const permit = await approvals.verifyForRun(question, asked.approvalId);
  if (permit.kind === 'refused') throw new Error(permit.reason);
  if (!(await usePermit(home, permit, question.key))) throw new Error('Somebody else used it.');
  tell('used', asked);
}

async function deny(question: Question): Promise<void> {
  const asked = await ask(approvals, question);
  await decideAsShown(approvals, asked.approvalId, { decision: 'deny', by: ada });
  tell('denied', asked);
}

/** Two cards of a session of their own: a yes to one lets both go. */
async function releaseAndRevoke(question: Question): Promise<void> {
  const here = { ...question, subject: { ...question.subject, session: question.key } };
  const asked = await ask(approvals, here);
  const other = { ...here.subject, arguments: { argv: ['another'] } };
  const covered = await ask(approvals, { ...here, key: `${question.key} covered`, subject: other });
  const answer = { decision: 'approve', scope: 'session', by: ada } as const;
  const outcome = await decideAsShown(approvals, asked.approvalId, answer);
  if (outcome.kind !== 'decided' || outcome.grantId === undefined) throw new Error('There is no grant.');
  if (outcome.released[0] !== covered.approvalId) throw new Error('It was not released.');
  tell('granted', asked);
  await approvals.revoke({ grantId: outcome.grantId, by: 'ada' });
  tell('revoked', asked);
}

async function cancel(question: Question): Promise<void> {
  const asked = await ask(approvals, question);
  await approvals.cancel(asked);
  tell('cancelled', asked);
}

async function expire(question: Question): Promise<void> {
  const asked = await ask(hasty.approvals, question);
  if ((await hasty.approvals.wait(asked)).kind !== 'expired') throw new Error('It did not run out.');
  tell('expired', asked);
}

async function ask(through: Approvals, question: Question): Promise<Asked> {
  const asked = await through.ask(question);
  if (asked.kind === 'refused') throw new Error(asked.reason);
  tell('asked', asked);
  return asked;
}

function tell(step: string, { approvalId, key }: Asked): void {
  acknowledge(`${step} ${approvalId} ${key}\n`);
}
