// Cards and answers of a release whose prompts showed the subject without a salt: `palyra.prompt/1`, `palyra.approval/1`.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseStatement, promptText, signedBytes, statementText, subjectDigest } from '@palyra/approvals';
import {
  createFakeClock,
  createFakeCredentials,
  createTemporaryHome,
  decideAsShown,
  openApprovalsHome,
  sampleQuestion,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

const YES = { decision: 'approve', scope: 'once' } as const;

test('what was asked and answered in the earlier form still holds, for exactly the same call', async () => {
  await using home = await openEarlierHome();
  const { approvals, ada, question, approvalId } = home;
  const { prompt, subject } = await approvals.get(approvalId);
  expect([prompt.format, subject]).toEqual(['palyra.prompt/1', subjectDigest(question.subject)]);
  const text = await approvals.draft(approvalId, { ...YES, shown: (await approvals.get(approvalId)).shown, by: ada });
  expect(parseStatement(text)).toMatchObject({ format: 'palyra.approval/1', subject });
  expect(await decideAsShown(approvals, approvalId, { ...YES, by: ada })).toMatchObject({ kind: 'decided' });

  const other = { ...question, subject: { ...question.subject, arguments: { argv: ['another'] } } };
  expect(await approvals.verifyForRun(other, approvalId)).toMatchObject({ code: 'other_subject' });
  expect(await approvals.verifyForRun(question, approvalId)).toMatchObject({ kind: 'permitted' });
});

test('asking the same again joins a card of the earlier form', async () => {
  await using home = await openEarlierHome();
  const again = { ...home.question, key: 'another call' };
  expect(await home.approvals.ask(again)).toMatchObject({ approvalId: home.approvalId, how: 'joined' });
  expect(await home.approvals.ask(home.question)).toMatchObject({ approvalId: home.approvalId, how: 'resumed' });
});

test('an answer in the one form is none to a prompt in the other', async () => {
  await using home = await openEarlierHome();
  const { approvals, ada, approvalId } = home;
  const { shown } = await approvals.get(approvalId);
  const said = parseStatement(await approvals.draft(approvalId, { ...YES, shown, by: ada }));
  if (said === undefined) throw new Error('This is no statement.');
  const text = statementText({ ...said, format: 'palyra.approval/2' });
  const signed = { text, signature: await ada.sign(signedBytes(text)) };
  expect(await approvals.record(signed)).toMatchObject({ kind: 'refused', code: 'bad_statement' });
});

/** With one open card, written as that release wrote it. */
async function openEarlierHome() {
  const directory = await createTemporaryHome();
  const location = { kind: 'sqlite', path: join(directory.path, 'palyra.db') } as const;
  const credentials = createFakeCredentials();
  const ada = credentials.issue('ada laptop', { person: 'ada', device: 'laptop' });
  // The record of that release has the prompt as the row has it.
  const options = { clock: createFakeClock(), credentials, wasAsked: async () => true };
  const home = await openApprovalsHome(location, options);
  const question = sampleQuestion();
  const asked = await home.approvals.ask(question);
  if (asked.kind === 'refused') throw new Error(asked.reason);
  const { approvalId } = asked;
  const { prompt } = await home.approvals.get(approvalId);
  const what = { ...prompt.what, subject: subjectDigest(question.subject) };
  const file = new DatabaseSync(location.path, { timeout: 5_000 });
  const write = file.prepare('update approvals set prompt = ? where id = ?');
  write.run(promptText({ ...prompt, format: 'palyra.prompt/1', what }), approvalId);
  file.close();
  return {
    ...home,
    ada,
    question,
    approvalId,
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}
