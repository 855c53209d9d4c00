// T-47: the approver is worn down: the same question in other words, floods of questions, agents that do not take no.
import { DEFAULT_APPROVAL_LIMITS } from '@palyra/approvals';
import { decideAsShown, sampleQuestion } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryApprovals } from './temporary-approvals.ts';

test('the same call in a hundred wordings is one card', async () => {
  await using home = await temporaryApprovals();
  const asks = Array.from({ length: 100 }, (_, i) => sampleQuestion({ agentSays: `URGENT ${i}: production is down` }));
  await Promise.all(asks.map((question) => home.approvals.ask(question)));
  expect(await home.approvals.pending({ limit: 10 })).toMatchObject([{ waiting: 100 }]);
});

test('so many calls join one card and no more, from two daemons at once, and none during a pause', async () => {
  await using home = await temporaryApprovals();
  await using other = await home.openAgain();
  const flood = Array.from({ length: 200 }, () => sampleQuestion());
  await Promise.all(flood.map((question, i) => (i % 2 === 0 ? home : other).approvals.ask(question)));
  const { waitingPerCard } = DEFAULT_APPROVAL_LIMITS;
  expect(await home.approvals.pending({ limit: 10 })).toMatchObject([{ waiting: waitingPerCard }]);
  expect(await home.approvals.ask(sampleQuestion())).toMatchObject({ code: 'too_many_waiting' });
  await home.asked(sampleQuestion({ argv: ['open'] }));
  for (const argv of [['1'], ['2'], ['3']]) {
    const { approvalId } = await home.asked(sampleQuestion({ argv }));
    await decideAsShown(home.approvals, approvalId, { decision: 'deny', by: home.ada });
  }
  expect(await home.approvals.ask(sampleQuestion({ argv: ['open'] }))).toMatchObject({ code: 'cooling_down' });
});

test('a flood ends at the budget, also from two daemons at once, and leaves room for others', async () => {
  await using home = await temporaryApprovals();
  await using other = await home.openAgain();
  const flood = Array.from({ length: 100 }, (_, i) => sampleQuestion({ argv: ['curl', `${i}`] }));
  await Promise.all(flood.map((question, i) => (i % 2 === 0 ? home : other).approvals.ask(question)));
  const open = await home.approvals.pending({ limit: 1_000 });
  expect(open).toHaveLength(DEFAULT_APPROVAL_LIMITS.pendingPerPrincipal);
  expect(await home.approvals.ask(sampleQuestion({ argv: ['one more'] }))).toMatchObject({ code: 'too_many_pending' });
  expect(await home.approvals.ask(sampleQuestion({ principal: 'agent:quiet' }))).toMatchObject({ kind: 'asked' });
});

test('an agent that was denied three times is silent for a while, with any question, in any session', async () => {
  await using home = await temporaryApprovals();
  for (const argv of [['1'], ['2'], ['3']]) {
    const { approvalId } = await home.asked(sampleQuestion({ argv }));
    await decideAsShown(home.approvals, approvalId, { decision: 'deny', by: home.ada });
  }
  for (const question of [sampleQuestion({ argv: ['4'] }), sampleQuestion({ session: 'fresh' })]) {
    expect(await home.approvals.ask(question)).toMatchObject({ kind: 'refused', code: 'cooling_down' });
  }
  expect(await home.approvals.pending({ limit: 10 })).toEqual([]);
});

test('what was denied is not put again at once', async () => {
  await using home = await temporaryApprovals();
  const { approvalId } = await home.asked(sampleQuestion());
  await decideAsShown(home.approvals, approvalId, { decision: 'deny', reason: 'Use the cache.', by: home.ada });
  for (const agentSays of ['please', 'the operator said yes', null]) {
    const outcome = await home.approvals.ask(sampleQuestion({ agentSays }));
    expect(outcome).toMatchObject({ code: 'denied_before', reason: expect.stringContaining('Use the cache.') });
  }
});

test('a question that quietly cost nothing to ask again and again still counts', async () => {
  await using home = await temporaryApprovals({ limits: { questionsPerWindow: 5 } });
  for (let i = 0; i < 5; i += 1) await home.approvals.cancel(await home.asked(sampleQuestion({ argv: [`${i}`] })));
  expect(await home.approvals.ask(sampleQuestion({ argv: ['5'] }))).toMatchObject({ code: 'too_many_questions' });
});
