// T-46: a row is edited before the human looks, so that a yes reaches further than what was shown.
import { type Effect, parseStatement, type Question, signedBytes } from '@palyra/approvals';
import { decideAsShown, draftAsShown, sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

const EVIL: Effect = { kind: 'host', host: 'evil.example', port: 443, secret: null };

test.each<[string, string, Question]>([
  [
    'effects',
    `update approvals set effects = replace(effects, 'api.example.com', 'evil.example')`,
    sampleQuestion({ effects: [EVIL] }),
  ],
  [
    'principal',
    `update approvals set principal = 'agent:other'`,
    sampleQuestion({ principal: 'agent:other', argv: ['x'] }),
  ],
  ['workspace', `update approvals set workspace = 'bank'`, sampleQuestion({ workspace: 'bank', argv: ['x'] })],
  ['session', `update approvals set session = 'session 2'`, sampleQuestion({ session: 'session 2', argv: ['x'] })],
])('another %s in the row is not in the grant', async (_what, sql, wider) => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion());
  home.writeRows(sql);
  await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'session', by: home.ada });
  expect(await home.approvals.covering(wider)).toMatchObject({ kind: 'refused' });
});

test('the rule for always is what was shown and signed, whatever the row says', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const { approvalId } = await home.asked(question);
  home.writeRows(
    `update approvals set workspace = 'bank', effects = replace(effects, 'api.example.com', 'evil.example')`,
  );
  const text = await draftAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'always', by: home.ada });
  expect(parseStatement(text)?.pattern).toMatchObject({ workspace: 'shop', effects: question.effects });
  const outcome = await home.approvals.record({ text, signature: await home.ada.sign(signedBytes(text)) });
  expect(outcome).toMatchObject({ alwaysHere: { workspace: 'shop', effects: question.effects } });
});

test('an answer that the policy does not offer is not offered by a row', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { offer: 'once' } });
  const { approvalId } = await home.asked(question);
  home.writeRows(`update approvals set needs = replace(needs, '"offer":"once"', '"offer":"always"')`);
  for (const scope of ['session', 'always'] as const) {
    const outcome = await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope, by: home.ada });
    expect(outcome).toMatchObject({ kind: 'refused', code: 'not_offered' });
  }
});

test.each([
  ['the reason of the policy', 'The call reaches a host that is new here.', 'The operator asked for this.'],
  ['the ids of the policies', 'new-host', 'well-known'],
  ['the words of an option', 'connections to api.example.com port 443', 'connections to localhost port 443'],
  ['how many people are needed', '"approvers":1', '"approvers":0'],
  ['how far the policy goes', '"offer":"always"', '"offer":"session"'],
  ['how long it holds', '"holds_ms":3600000', '"holds_ms":3600'],
])('%s: a prompt that was shown otherwise permits nothing', async (_what, honest, edited) => {
  await using home = await temporaryApprovals();
  for (const scope of ['once', 'session'] as const) {
    const question = sampleQuestion({ argv: [scope] });
    const { approvalId } = await home.asked(question);
    const { prompt } = home.readRow('select prompt from approvals where id = ?', approvalId);
    expect(prompt).toContain(honest);
    home.writeRows('update approvals set prompt = replace(prompt, ?, ?) where id = ?', honest, edited, approvalId);
    await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope, by: home.ada });
    expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ kind: 'refused' });
  }
});

test('words that say less than what they stand for are not decided upon beyond one use', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion());
  // The words stay, and what they stand for becomes another host.
  home.writeRows(
    `update approvals set prompt = replace(prompt, '"host\\":\\"api.example.com', '"host\\":\\"evil.example')`,
  );
  const { prompt } = home.readRow('select prompt from approvals');
  expect(prompt).toContain('evil.example');
  const outcome = await decideAsShown(home.approvals, approvalId, {
    decision: 'approve',
    scope: 'session',
    by: home.ada,
  });
  expect(outcome).toMatchObject({ kind: 'refused' });
  expect(await home.approvals.covering(sampleQuestion({ effects: [EVIL] }))).toMatchObject({ kind: 'refused' });
});

test('a grant whose prompt was exchanged since is not what was signed', async () => {
  await using home = await temporaryApprovals();
  await home.approved(sampleQuestion(), 'session');
  home.writeRows(`update approvals set prompt = replace(prompt, 'new-host', 'well-known')`);
  expect(await home.approvals.covering(sampleQuestion({ argv: ['x'] }))).toMatchObject({ kind: 'refused' });
});

test('a vote that somebody wrote makes no second person, and a no that was set back stays one', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion({ needs: { approvers: 2 } }));
  const text = await draftAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'always', by: home.bob });
  home.writeRows(`insert into approval_votes values (?, 'bob', ?, ?)`, approvalId, text, new Uint8Array(64));
  home.writeRows('update approvals set votes = 1');
  const always = { decision: 'approve', scope: 'always' } as const;
  const outcome = await decideAsShown(home.approvals, approvalId, { ...always, by: home.ada });
  expect(outcome).toEqual({ kind: 'counted', approvers: 1, needed: 2 });

  const denied = await home.asked(sampleQuestion({ argv: ['denied'] }));
  await decideAsShown(home.approvals, denied.approvalId, { decision: 'deny', by: home.bob });
  home.writeRows(`update approvals set state = 'pending', ended_at = null where id = ?`, denied.approvalId);
  const late = await decideAsShown(home.approvals, denied.approvalId, { ...always, by: home.ada });
  expect(late).toEqual({ kind: 'conflict', state: 'denied' });
});

test('the one vote of a card for two is no grant, nor an approval, whatever is demanded later', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { approvers: 2 } });
  const { approvalId } = await home.asked(question);
  await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'session', by: home.ada });
  home.writeRows(`update approvals set state = 'approved', scope = 'session'`);
  home.writeRows(
    `insert into approval_grants values ('01J00000000000000000000000', ?, 'agent:coder', 'shop', 'session 1', 'session',
      'live', 'p1', 0, 9000000000000, null, null, 0, null)`,
    approvalId,
  );
  const today = { ...question, needs: { ...question.needs, approvers: 1 } };
  expect(await home.approvals.covering({ ...today, key: 'x' })).toMatchObject({ kind: 'refused' });
  expect(await home.approvals.verifyForRun(today, approvalId)).toMatchObject({ code: 'too_few_people' });
});
