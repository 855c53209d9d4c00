import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ApprovalOutcome,
  ApprovalScope,
  ApprovalService,
  OutcomeKind,
  type PendingApproval,
  type RunEvent,
  RunService,
} from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiPlace, openApi } from './api-place.ts';
import { isKind, kindOf, openStream, propose, start } from './api-stream.ts';

let root: string;
let place: ApiPlace;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'palyra-api-'));
  place = await openApi({ root });
  // The worker of the file tools stays: it is started here, where no test waits for it to be gone.
  const runs = place.client(RunService);
  const { runId } = await runs.startRun({});
  await runs.callTool({ runId, proposal: { tool: 'palyra.fs.list', inputJson: '{}' } });
  await runs.endRun({ runId });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

test('the events of a call come in the order of its life, with numbers that grow', async () => {
  const stream = openStream(place.client(RunService), start());
  stream.say(propose('a', 'palyra.process.run', { argv: ['sh', '-c', 'echo out; echo err >&2'] }));
  await stream.until(isKind('attestation', 'a'));
  stream.say({ case: 'endRun', value: {} });
  const events = await stream.rest();
  const kinds = events.map(kindOf);
  expect(kinds.filter((kind) => kind !== 'output')).toEqual([
    'runStarted',
    'proposalAccepted',
    'decision',
    'executionStarted',
    'result',
    'attestation',
    'runEnded',
  ]);
  expect(kinds.filter((kind) => kind === 'output').length).toBeGreaterThan(1);
  const numbers = events.map(({ sequence }) => sequence);
  expect(numbers).toEqual(numbers.toSorted((one, other) => Number(one - other)));
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(events.every(({ callKey, event }) => callKey === (event.case?.startsWith('run') ? '' : 'a'))).toBe(true);
});

async function question(): Promise<PendingApproval> {
  for (;;) {
    const { approvals } = await place.client(ApprovalService, 'operator').listApprovals({});
    const [first] = approvals;
    if (first !== undefined) return first;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const ONCE = { approve: true, scope: ApprovalScope.ONCE } as const;

test('a question is listed, looked at, answered with a signed statement, and the call goes on', async () => {
  writeFileSync(join(place.workspace.root, '.env'), 'PORT=1\n');
  const stream = openStream(place.client(RunService), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  const { event: asked } = await stream.until(isKind('approvalRequested'));
  const approvals = place.client(ApprovalService, 'operator');
  const listed = await question();
  expect(asked).toMatchObject({ value: { approvalId: listed.approvalId } });
  // By the end of its id, as people give it.
  const { approval } = await approvals.getApproval({ approvalId: listed.approvalId.slice(-6).toLowerCase() });
  expect(approval).toEqual(listed);
  const answer = { ...ONCE, promptSha256: listed.promptSha256 };
  const { statement } = await approvals.draftDecision({ approvalId: listed.approvalId, answer });
  const signature = await place.ada.sign(signedBytes(statement));
  const said = await approvals.recordDecision({ statement, signature: new Uint8Array(signature) });
  expect(said).toMatchObject({ kind: 'decided', state: 'approved' });
  const { event: ended } = await stream.until(isKind('result'));
  expect(ended).toMatchObject({
    value: {
      approval: { outcome: ApprovalOutcome.APPROVED, decidedBy: 'user:ada', device: place.ada.device },
      outcome: { kind: OutcomeKind.COMPLETED },
    },
  });
  await stream.until(isKind('attestation'));
  stream.finish();
  expect((await stream.rest()).map(kindOf)).toEqual([
    'runStarted',
    'proposalAccepted',
    'decision',
    'approvalRequested',
    'approvalDecided',
    'executionStarted',
    'result',
    'attestation',
  ]);
  const { state } = (await approvals.getApproval({ approvalId: listed.approvalId })).approval ?? {};
  expect(state).toBe('approved');
});

test('cancelled while a human is asked, the question is taken back and the call ends', async () => {
  writeFileSync(join(place.workspace.root, '.env'), 'PORT=1\n');
  const stream = openStream(place.client(RunService), start());
  stream.say(propose('a', 'palyra.fs.read', { path: '.env' }));
  await stream.until(isKind('approvalRequested'));
  const { approvalId } = await question();
  stream.say({ case: 'cancelCall', value: { key: 'a' } });
  const { event } = await stream.until(isKind('result'));
  expect(event).toMatchObject({ value: { outcome: { kind: OutcomeKind.REFUSED, code: 'gateway.cancelled' } } });
  const { approval } = await place.client(ApprovalService, 'operator').getApproval({ approvalId });
  expect(approval?.state).toBe('cancelled');
  stream.say({ case: 'cancelRun', value: {} });
  expect((await stream.rest()).map(kindOf).at(-1)).toBe('runEnded');
});

test('without a stream: start, call, the same key again, watch from the beginning, end', async () => {
  const runs = place.client(RunService);
  const { runId } = await runs.startRun({});
  const proposal = { key: 'a', tool: 'palyra.echo', inputJson: '{"text":"hi"}' };
  const first = await runs.callTool({ runId, proposal });
  expect(first.result?.outcome).toMatchObject({ kind: OutcomeKind.COMPLETED, outputJson: '{"text":"hi"}' });
  expect(await runs.callTool({ runId, proposal })).toEqual(first);
  await runs.endRun({ runId });
  const events: RunEvent[] = [];
  for await (const { event } of runs.watchRun({ runId })) events.push(event as RunEvent);
  expect(events.map(kindOf)).toEqual([
    'runStarted',
    'proposalAccepted',
    'decision',
    'executionStarted',
    'result',
    'attestation',
    'runEnded',
  ]);
});
