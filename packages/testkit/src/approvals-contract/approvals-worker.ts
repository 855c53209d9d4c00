import { writeSync } from 'node:fs';
import { createFakeCredentials } from '../fake-credentials.ts';
import { openApprovalsHome, usePermit } from './approvals-home.ts';
import { sampleQuestion } from './sample-questions.ts';

/**
 * A process of its own: `approvals-worker.ts LOCATION LABEL LANES COUNT`. It prints each step of each call once the
 * database has acknowledged it, and not before.
 */
const [location = '', label = '', lanes = '1', count = '1'] = process.argv.slice(2);

const credentials = createFakeCredentials();
const ada = credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
await using home = await openApprovalsHome(JSON.parse(location), {
  credentials,
  limits: { questionsPerWindow: 1_000_000 },
});
const { approvals } = home;
await Promise.all(Array.from({ length: Number(lanes) }, (_, lane) => callAll(`agent:${label} ${lane}`)));

async function callAll(principal: string): Promise<void> {
  for (let call = 0; call < Number(count); call += 1) {
    const question = sampleQuestion({ key: `${principal} ${call}`, principal, argv: [`${call}`] });
    const asked = await approvals.ask(question);
    if (asked.kind === 'refused') throw new Error(asked.reason);
    const acknowledge = (step: string) => writeSync(1, `${step} ${asked.approvalId} ${question.key}\n`);
    acknowledge('asked');
    const answer = approvals.wait(asked);
    await approvals.decide(asked.approvalId, { decision: 'approve', scope: 'once', by: ada });
    acknowledge('approved');
    if ((await answer).kind !== 'approved') throw new Error('The answer did not arrive.');
    const permit = await approvals.verifyForRun(question, asked.approvalId);
    if (permit.kind === 'refused') throw new Error(permit.reason);
    if (!(await usePermit(home, permit, question.key))) throw new Error('Somebody else used it.');
    acknowledge('used');
  }
}
