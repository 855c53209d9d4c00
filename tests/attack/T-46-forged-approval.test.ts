// T-46: an approval is replayed, widened or forged by writing its table, or what was signed is not what was shown.
import { type DecisionStatement, parseStatement, type Question, signedBytes, statementText } from '@palyra/approvals';
import { type ApprovalId, sha256Hex } from '@palyra/primitives';
import { decideAsShown, draftAsShown, sampleQuestion, usePermit } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { type AttackedApprovals, temporaryApprovals } from './temporary-approvals.ts';

const REFUSED = { kind: 'refused' };

test('a row that says approved approves nothing', async () => {
  await using home = await temporaryApprovals();
  for (const ended of ['pending', 'denied', 'cancelled'] as const) {
    const question = sampleQuestion({ argv: [ended] });
    const card = await home.asked(question);
    if (ended === 'denied') await decideAsShown(home.approvals, card.approvalId, { decision: 'deny', by: home.ada });
    if (ended === 'cancelled') await home.approvals.cancel(card);
    home.writeRows(`update approvals set state = 'approved', votes = 9, scope = 'once' where id = ?`, card.approvalId);
    expect(await home.approvals.wait(card)).toMatchObject({ kind: 'approved' });
    expect(await home.approvals.verifyForRun(question, card.approvalId)).toMatchObject({ code: 'not_approved' });
  }
});

test('a statement that nobody signed, or somebody else, is worth nothing', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const { approvalId } = await home.asked(question);
  const text = await draftAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });
  const mallory = home.credentials.issue('mallory', { person: 'mallory', kind: 'agent' });
  const signatures = [
    new Uint8Array(64),
    await mallory.sign(signedBytes(text)),
    await home.ada.sign(new TextEncoder().encode(text)),
  ];
  home.writeRows(`update approvals set state = 'approved', votes = 1, scope = 'once'`);
  for (const signature of signatures) {
    home.writeRows('delete from approval_votes');
    home.writeRows(`insert into approval_votes values (?, 'ada', ?, ?)`, approvalId, text, signature);
    expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'not_approved' });
  }
});

test('a yes to one question is not moved to another, nor to another home', async () => {
  await using home = await temporaryApprovals();
  const harmless = sampleQuestion({ argv: ['ls'] });
  const harmful = sampleQuestion({ argv: ['rm', '-rf', '/'] });
  const id = await home.approved(harmless);
  const { approvalId } = await home.asked(harmful);
  home.writeRows(`update approvals set state = 'approved', votes = 1, scope = 'once' where id = ?`, approvalId);
  home.writeRows('update approval_votes set approval_id = ?', approvalId);
  expect(await home.approvals.verifyForRun(harmful, approvalId)).toMatchObject({ code: 'not_approved' });
  home.writeRows('update approval_votes set approval_id = ?', id);
  // Or the card itself takes the harmless one's place.
  home.writeRows(
    'update approvals set subject = (select subject from approvals where id = ?) where id = ?',
    approvalId,
    id,
  );
  expect(await home.approvals.verifyForRun(harmful, id)).toMatchObject({ code: 'other_subject' });
  await using elsewhere = await home.openAgain({ origin: 'palyra/another-home' });
  expect(await elsewhere.approvals.verifyForRun(harmless, id)).toMatchObject({ code: 'not_approved' });
});

test('scope, pattern and time are what was signed, not what the rows say', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion();
  const id = await home.approved(question);
  home.writeRows(
    `insert into approval_grants values ('01J00000000000000000000000', ?, 'agent:coder', 'shop', null, 'timeboxed', 'live',
      'p1', 0, 9000000000000, null, null, 0, null)`,
    id,
  );
  home.writeRows(`update approvals set scope = 'timeboxed'`);
  const other = sampleQuestion({ argv: ['other'] });
  expect(await home.approvals.covering(other)).toMatchObject(REFUSED);
  expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ kind: 'permitted', scope: 'once' });
  await home.clock.advance(24 * 3_600_000);
  home.writeRows('update approvals set expires_at = 9000000000000');
  expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'approval_expired' });
});

test('a grant is not lent to another principal, session or workspace, nor lengthened', async () => {
  await using home = await temporaryApprovals();
  await home.approved(sampleQuestion(), 'session');
  const attempts: readonly (readonly [string, Question])[] = [
    [`update approval_grants set principal = 'agent:other'`, sampleQuestion({ principal: 'agent:other' })],
    [
      `update approval_grants set principal = 'agent:coder', session = 'session 2'`,
      sampleQuestion({ session: 'session 2' }),
    ],
    ['update approval_grants set session = null', sampleQuestion({ session: 'session 3' })],
    [`update approval_grants set workspace = 'bank'`, sampleQuestion({ workspace: 'bank' })],
  ];
  for (const [sql, question] of attempts) {
    home.writeRows(sql);
    expect(await home.approvals.covering(question)).toMatchObject(REFUSED);
  }
  home.writeRows(`update approval_grants set workspace = 'shop', expires_at = 9000000000000`);
  expect(await home.approvals.covering(sampleQuestion())).toMatchObject({ kind: 'permitted' });
  await home.clock.advance(30 * 24 * 3_600_000);
  expect(await home.approvals.covering(sampleQuestion())).toMatchObject(REFUSED);
});

test('the effects of a grant are not widened, in its row or in its statement', async () => {
  await using home = await temporaryApprovals();
  await home.approved(sampleQuestion(), 'session');
  const evil = sampleQuestion({ effects: [{ kind: 'host', host: 'evil.example', port: 443, secret: null }] });
  home.writeRows(`update approvals set effects = replace(effects, 'api.example.com', 'evil.example')`);
  expect(await home.approvals.covering(evil)).toMatchObject(REFUSED);
  home.writeRows(`update approval_votes set statement = replace(statement, 'api.example.com', 'evil.example')`);
  expect(await home.approvals.covering(evil)).toMatchObject(REFUSED);
  expect(await home.approvals.covering(sampleQuestion())).toMatchObject(REFUSED);
});

test('what was used or revoked is not revived by setting its row back', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ argv: ['once'] });
  const id = await home.approved(question);
  const permit = await home.approvals.verifyForRun(question, id);
  if (permit.kind === 'refused') throw new Error(permit.reason);
  expect(await usePermit(home, permit)).toBe(true);
  home.writeRows('update approvals set used_at = null, used_by = null');
  expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'already_used' });

  await home.approved(sampleQuestion(), 'session');
  const [grant] = await home.approvals.grants({});
  if (grant === undefined) throw new Error('There is no grant.');
  await home.approvals.revoke({ grantId: grant.grantId, by: 'ada' });
  home.writeRows(`update approval_grants set state = 'live', ended_at = null`);
  expect(await home.approvals.covering(sampleQuestion())).toMatchObject(REFUSED);

  // A process that saw none of it asks the record.
  await using again = await home.openAgain();
  expect(await again.approvals.verifyForRun(question, id)).toMatchObject({ code: 'already_used' });
  expect(await again.approvals.covering(sampleQuestion())).toMatchObject(REFUSED);
});

test('a prompt that was changed before the approver looked is found when the call runs', async () => {
  // Also by whoever has no record of what was asked.
  await using home = await temporaryApprovals({ wasAsked: async () => true });
  const question = sampleQuestion({ argv: ['rm', '-rf', '/srv'] });
  const { approvalId } = await home.asked(question);
  home.writeRows(`update approvals set prompt = replace(prompt, 'rm -rf /srv', 'ls')`);
  expect((await home.approvals.get(approvalId)).prompt.what.action.text).toBe('ls');
  const outcome = await decideAsShown(home.approvals, approvalId, { decision: 'approve', scope: 'once', by: home.ada });
  expect(outcome).toMatchObject({ kind: 'decided' });
  expect(await home.approvals.verifyForRun(question, approvalId)).toMatchObject({ code: 'other_prompt' });
});

test('a prompt that was changed after the approver looked is not the one that was signed', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ argv: ['rm', '-rf', '/srv'] });
  const id = await home.approved(question);
  home.writeRows(
    `update approvals set prompt = replace(prompt, 'The call reaches a host', 'The call reaches no host')`,
  );
  expect(await home.approvals.verifyForRun(question, id)).toMatchObject({ code: 'other_prompt' });
});

test('a decider cannot sign more than the question offers', async () => {
  await using home = await temporaryApprovals();
  const question = sampleQuestion({ needs: { offer: 'session' } });
  const { approvalId } = await home.asked(question);
  const honest = await statementOf(home, approvalId);
  const pattern = honest.pattern as NonNullable<DecisionStatement['pattern']>;
  const forgeries: readonly Partial<DecisionStatement>[] = [
    { scope: 'always', pattern: null },
    { expires_at: honest.expires_at + 1 },
    { pattern: { ...pattern, session: null } },
    { pattern: { ...pattern, principal: 'agent:other' } },
    { pattern: { ...pattern, effects: [...pattern.effects, { kind: 'path', path: '/', mode: 'write' }] } },
    { subject: sha256Hex('another') },
    { origin: 'palyra/another' },
    { decided_at: honest.decided_at + 60_000, expires_at: honest.expires_at + 60_000 },
    { decider: 'bob' },
    { assurance: 'user_verified' },
    { device: 'phone' },
  ];
  for (const change of forgeries) {
    const text = statementText({ ...honest, ...change });
    const signature = await home.ada.sign(signedBytes(text));
    expect([change, await home.approvals.record({ text, signature })]).toMatchObject([change, REFUSED]);
  }
  const aboutAnother = statementText({ ...honest, prompt: sha256Hex('another') });
  const signature = await home.ada.sign(signedBytes(aboutAnother));
  expect(await home.approvals.record({ text: aboutAnother, signature })).toEqual({
    kind: 'conflict',
    state: 'changed',
  });
  expect(await home.approvals.get(approvalId)).toMatchObject({ state: 'pending' });
});

async function statementOf(home: AttackedApprovals, id: ApprovalId): Promise<DecisionStatement> {
  const text = await draftAsShown(home.approvals, id, { decision: 'approve', scope: 'session', by: home.ada });
  const statement = parseStatement(text);
  if (statement === undefined) throw new Error('The draft is not a statement.');
  return statement;
}
