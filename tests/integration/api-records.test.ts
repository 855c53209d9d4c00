import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ApprovalScope,
  ApprovalService,
  DecisionKind,
  OutcomeKind,
  PolicyService,
  RunService,
  WorkspaceService,
} from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { openOperatorCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { codeOf } from './api-place.ts';
import { isKind, openStream, propose, start } from './api-stream.ts';

let palyrad: PalyradProcess;
let project: string;

beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
  project = join(palyrad.root, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'kept.txt'), 'before\n');
  writeFileSync(join(project, '.env'), 'PORT=1\n');
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: project });
});

afterAll(() => palyrad[Symbol.asyncDispose]());

const agent = () => palyrad.client(RunService, 'local-agent');
const operator = () => palyrad.client(RunService, 'operator');

async function made(calls: readonly (readonly [string, object])[]): Promise<{ runId: string; callIds: string[] }> {
  const { runId } = await agent().startRun({});
  const callIds: string[] = [];
  for (const [tool, input] of calls) {
    const { result } = await agent().callTool({ runId, proposal: { tool, inputJson: JSON.stringify(input) } });
    callIds.push(result?.callId ?? '');
  }
  return { runId, callIds };
}

test('runs are listed newest first, page by page; one is shown with its calls, and one call on its page', async () => {
  const { runId, callIds } = await made([
    ['palyra.process.run', { argv: ['sh', '-c', 'echo hi'] }],
    ['palyra.nothing', {}],
  ]);
  const second = await made([]);
  await agent().endRun({ runId: second.runId });
  const page = await operator().listRuns({ limit: 1 });
  expect(page.runs).toMatchObject([{ runId: second.runId, state: 'ended', principal: 'agent:local' }]);
  const next = await operator().listRuns({ limit: 1, pageToken: page.nextPageToken });
  expect(next.runs).toMatchObject([{ runId, state: 'open', calls: 1, refused: 1, workspaceRoot: project }]);
  expect((await operator().listRuns({ openOnly: true })).runs.map((run) => run.runId)).not.toContain(second.runId);
  const shown = await operator().getRun({ runId: runId.slice(-7).toLowerCase() });
  expect(shown.calls).toMatchObject([
    {
      callId: callIds[0],
      tool: 'palyra.process.run',
      summary: expect.stringContaining('echo hi'),
      decision: DecisionKind.ALLOW,
      outcome: OutcomeKind.COMPLETED,
    },
    { callId: callIds[1], tool: 'unknown', outcome: OutcomeKind.REFUSED, code: 'gateway.unknown_tool' },
  ]);
  const why = await operator().getCall({ callId: callIds[0]?.slice(-8) ?? '' });
  expect(why).toMatchObject({
    principal: 'agent:local',
    inputJson: '{"argv":["sh","-c","echo hi"]}',
    result: {
      runId,
      callId: callIds[0],
      decision: { kind: DecisionKind.ALLOW, policyIds: expect.arrayContaining(['in-the-box']) },
      outcome: { kind: OutcomeKind.COMPLETED, exitCode: 0, stdout: new TextEncoder().encode('hi\n') },
      attestation: { sandboxEnforcement: 'strict' },
    },
  });
  const record = JSON.parse(why.recordJson) as { policies: { text: string }[]; attestation: object };
  expect(record.policies[0]?.text).toContain('permit');
  expect(record.attestation).toMatchObject({ call_id: callIds[0] });
  expect((await agent().getRun({ runId: runId.slice(-8) })).run?.runId).toBe(runId);
  await agent().endRun({ runId });
});

test('another agent sees none of it, by whole id or by its end', async () => {
  const { runId, callIds } = await made([['palyra.echo', { text: 'x' }]]);
  const stranger = palyrad.client(RunService, await palyrad.letIn('stranger', 'agent', ['agent']));
  expect((await stranger.listRuns({})).runs).toEqual([]);
  // T-41: what is another's and what never was are told alike, or trying ends would tell which ids there are.
  for (const id of [runId, runId.slice(-6), 'ZZZZZZ']) {
    await expect(stranger.getRun({ runId: id }).catch(codeOf)).resolves.toBe('gateway.run_not_found');
    await expect(stranger.undoRun({ runId: id }).catch(codeOf)).resolves.toBe('gateway.run_not_found');
  }
  for (const id of [callIds[0] ?? '', callIds[0]?.slice(-6) ?? '', 'ZZZZZZ']) {
    await expect(stranger.getCall({ callId: id }).catch(codeOf)).resolves.toBe('gateway.call_not_found');
  }
  await agent().endRun({ runId });
});

test('the newest run of a workspace is undone: files come back, those that are new go, those that changed since stay', async () => {
  const { runId } = await made([
    ['palyra.fs.write', { path: 'kept.txt', content: 'after\n' }],
    ['palyra.fs.write', { path: 'new.txt', content: 'new\n' }],
    ['palyra.fs.write', { path: 'touched.txt', content: 'new\n' }],
  ]);
  await agent().endRun({ runId });
  writeFileSync(join(project, 'touched.txt'), 'mine\n');
  const would = await operator().undoRun({ workspace: project, dryRun: true });
  expect(would).toMatchObject({
    runId,
    files: [
      { path: 'kept.txt', result: 'restored' },
      { path: 'new.txt', result: 'removed' },
      { path: 'touched.txt', result: 'removed' },
    ],
  });
  expect(readFileSync(join(project, 'kept.txt'), 'utf8')).toBe('after\n');
  const undone = await operator().undoRun({ workspace: project });
  expect(undone.files.map(({ path, result }) => `${path} ${result}`).toSorted()).toEqual([
    'kept.txt restored',
    'new.txt removed',
    'touched.txt skipped',
  ]);
  expect(readFileSync(join(project, 'kept.txt'), 'utf8')).toBe('before\n');
  expect(existsSync(join(project, 'new.txt'))).toBe(false);
  expect(readFileSync(join(project, 'touched.txt'), 'utf8')).toBe('mine\n');
});

test('an operator stops an agent: its calls end, its streams say so, and the journal says who did it', async () => {
  const stream = openStream(agent(), start());
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  stream.say(propose('a', 'palyra.sleep', { ms: 3_600_000 }));
  await stream.until(isKind('executionStarted'));
  await expect(agent().stopAgents({}).catch(codeOf)).resolves.toMatch(/not_permitted|not_authorized/);
  expect((await operator().stopAgents({ principal: 'agent:local' })).runIds).toContain(runId);
  const events = await stream.rest();
  expect(events.find(isKind('result'))?.event.value).toMatchObject({ outcome: { kind: OutcomeKind.CANCELLED } });
  expect(events.at(-1)?.event).toMatchObject({ case: 'runEnded', value: { outcome: 'cancelled' } });
});

test('an answer for always is a rule that is told, listed, used and taken out; palyra allow writes the same', async () => {
  const policy = palyrad.client(PolicyService, 'operator');
  const approvals = palyrad.client(ApprovalService, 'operator');
  const stream = openStream(agent(), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested', 'a'));
  const { approvals: open } = await approvals.listApprovals({});
  const { approvalId = '', promptSha256 = '' } = open[0] ?? {};
  const answer = { approve: true, scope: ApprovalScope.ALWAYS, promptSha256 };
  const { statement } = await approvals.draftDecision({ approvalId, answer });
  const { key } = openOperatorCredential(palyrad.home.identity);
  const said = await approvals.recordDecision({
    statement,
    signature: new Uint8Array(key.sign(signedBytes(statement))),
  });
  expect(said).toMatchObject({ kind: 'decided', state: 'approved', ruleId: expect.stringMatching(/./) });
  await stream.until(isKind('attestation', 'a'));
  stream.say(propose('b', 'palyra.fs.read', { path: '.env' }));
  const { event } = await stream.until(isKind('decision', 'b'));
  expect(event.value).toMatchObject({ kind: DecisionKind.ALLOW, policyIds: [said.ruleId] });
  const { rules } = await policy.listRules({});
  expect(rules).toMatchObject([{ ruleId: said.ruleId, text: expect.stringContaining('.env') }]);
  await policy.removeRule({ ruleId: said.ruleId });
  expect((await policy.listRules({})).rules).toEqual([]);
  const rule = { rule: 'secret-file:.env', workspace: project };
  const shown = await policy.allowRule({ ...rule, dryRun: true });
  expect(shown.text).toContain('permit');
  expect((await policy.listRules({})).rules).toEqual([]);
  expect(await policy.allowRule(rule)).toEqual(shown);
  expect((await policy.listRules({})).rules).toMatchObject([{ ruleId: shown.ruleId }]);
  await policy.removeRule({ ruleId: shown.ruleId });
  const asAgent = palyrad.client(PolicyService, 'local-agent');
  await expect(asAgent.allowRule(rule).catch(codeOf)).resolves.toBe('daemon.not_permitted');
  stream.say({ case: 'endRun', value: {} });
  await stream.rest();
});

test('input, signals and the size of a terminal reach a program that runs', async () => {
  const stream = openStream(agent(), start());
  const input = (value: object) => ({ case: 'input', value: { key: 'a', input: value } }) as never;
  stream.say(propose('a', 'palyra.process.run', { argv: ['cat'], stdin_open: true }));
  stream.say(input({ case: 'data', value: new TextEncoder().encode('typed\n') }));
  await stream.until(isKind('output', 'a'));
  stream.say(input({ case: 'end', value: {} }));
  const { event } = await stream.until(isKind('result', 'a'));
  expect(event.value).toMatchObject({ outcome: { exitCode: 0, stdout: new TextEncoder().encode('typed\n') } });

  // It never reads: what is sent is held back, and a signal passes by.
  const trap = 'trap "echo caught; exit 7" TERM; echo ready; while :; do sleep 0.05; done';
  stream.say(propose('b', 'palyra.process.run', { argv: ['sh', '-c', trap], stdin_open: true }));
  await stream.until(isKind('output', 'b'));
  const { event: begun } = await stream.until(isKind('runStarted'));
  const runId = begun.case === 'runStarted' ? begun.value.runId : '';
  const flood = { key: 'b', input: { case: 'data', value: new Uint8Array(64 * 1024) } } as const;
  const stuck = Promise.allSettled(Array.from({ length: 40 }, () => agent().feedCall({ runId, input: flood })));
  await agent().feedCall({ runId, input: { key: 'b', input: { case: 'signal', value: 'SIGTERM' } } });
  const { event: ended } = await stream.until(isKind('result', 'b'));
  expect(ended.value).toMatchObject({ outcome: { exitCode: 7 } });
  expect((await stuck).map(({ status }) => status)).not.toContain('rejected');
  stream.say({ case: 'endRun', value: {} });
  await stream.rest();
});
