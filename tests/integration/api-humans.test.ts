import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ApprovalScope,
  ApprovalService,
  GrantService,
  JournalService,
  type PendingApproval,
  PolicyService,
  RunService,
  type WatchApprovalsResponse,
  WorkspaceService,
} from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { openOperatorCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { codeOf } from './api-place.ts';

let palyrad: PalyradProcess;

beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
  const project = join(palyrad.root, 'project');
  mkdirSync(project);
  for (const name of ['.env', '.env.test']) writeFileSync(join(project, name), 'PORT=1\n');
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: project });
});

afterAll(() => palyrad[Symbol.asyncDispose]());

async function answer(card: PendingApproval, said: { approve: boolean; scope?: ApprovalScope; reason?: string }) {
  const approvals = palyrad.client(ApprovalService, 'operator');
  const { approvalId, promptSha256 } = card;
  const { statement } = await approvals.draftDecision({ approvalId, answer: { ...said, promptSha256 } });
  const { key } = openOperatorCredential(palyrad.home.identity);
  const signature = new Uint8Array(key.sign(signedBytes(statement)));
  return approvals.recordDecision({ statement, signature });
}

/** A watcher that can be asked for the next change. */
function watching() {
  const gone = new AbortController();
  const watched = palyrad.client(ApprovalService, 'operator').watchApprovals({}, { signal: gone.signal });
  const changes = watched[Symbol.asyncIterator]();
  return {
    async next(): Promise<WatchApprovalsResponse['change']> {
      const { value, done } = await changes.next();
      if (done === true) throw new Error('It ended.');
      return value.change;
    },
    /** The next one that is about a question in this state. */
    async question(state: string): Promise<PendingApproval> {
      for (;;) {
        const change = await this.next();
        if (change.case === 'approval' && change.value.state === state) return change.value;
      }
    },
    stop: () => gone.abort(),
  };
}

async function call(tool: string, input: object) {
  const runs = palyrad.client(RunService, 'local-agent');
  const { runId } = await runs.startRun({});
  const proposal = { tool, inputJson: JSON.stringify(input) };
  return { runId, result: runs.callTool({ runId, proposal }).then(({ result }) => result) };
}

test('an inbox begins with what is open, then hears of every change', async () => {
  const waiting = await call('palyra.fs.read', { path: '.env' });
  const first = watching();
  const card = await first.question('pending');
  const second = watching();
  expect((await second.next()).value).toMatchObject({ approvalId: card.approvalId });
  expect((await second.next()).case).toBe('caughtUp');
  expect(JSON.parse(card.promptJson)).toMatchObject({ what: expect.anything() });
  expect(await answer(card, { approve: false, reason: 'Not today.' })).toMatchObject({
    kind: 'decided',
    state: 'denied',
  });
  expect((await second.question('denied')).approvalId).toBe(card.approvalId);
  expect((await first.question('denied')).approvalId).toBe(card.approvalId);
  const result = await waiting.result;
  expect(result?.outcome).toMatchObject({ code: 'gateway.approval_denied', message: 'A human refused. Not today.' });
  first.stop();
  second.stop();
});

test('a yes for the session is a grant, which is listed, used and revoked by the end of its id', async () => {
  const runs = palyrad.client(RunService, 'local-agent');
  const { runId } = await runs.startRun({});
  const proposal = { tool: 'palyra.fs.read', inputJson: '{"path":".env.test"}' };
  const inbox = watching();
  const asked = runs.callTool({ runId, proposal });
  const said = await answer(await inbox.question('pending'), { approve: true, scope: ApprovalScope.SESSION });
  inbox.stop();
  expect((await asked).result?.approval).toMatchObject({ scope: ApprovalScope.SESSION, decidedBy: 'user:ada' });
  expect((await runs.callTool({ runId, proposal })).result?.outcome?.code).toBe('');
  const grants = palyrad.client(GrantService, 'operator');
  const { grants: listed } = await grants.listGrants({});
  expect(listed).toMatchObject([{ grantId: said.grantId, state: 'active', principal: 'agent:local' }]);
  expect(await grants.revokeGrant({ grantId: said.grantId.slice(-8) })).toMatchObject({ state: 'revoked' });
  expect((await grants.listGrants({})).grants).toEqual([]);
  expect((await grants.listGrants({ includeEnded: true })).grants).toMatchObject([{ state: 'revoked' }]);
  await expect(grants.revokeGrant({ grantId: 'ZZZZ' }).catch(codeOf)).resolves.toBe('approvals.not_found');
  await expect(
    palyrad.client(GrantService, 'local-agent').revokeGrant({ grantId: said.grantId }).catch(codeOf),
  ).resolves.toBe('daemon.not_permitted');
});

test('the journal is read in pages both ways, by the end of an id, and as it grows', async () => {
  const journal = palyrad.client(JournalService, 'operator');
  const gone = new AbortController();
  const tail = journal.tailEntries({}, { signal: gone.signal })[Symbol.asyncIterator]();
  const heard = tail.next();
  const { runId, result } = await call('palyra.echo', { text: 'hi' });
  const callId = (await result)?.callId ?? '';
  expect((await heard).value?.entry).toMatchObject({ runId });
  gone.abort();
  const whole = await journal.queryEntries({ filter: { runId: runId.slice(-6).toLowerCase() } });
  expect(whole.entries.map(({ kind }) => kind)).toEqual([
    'run.started',
    'proposal',
    'decision',
    'intent',
    'outcome',
    'attestation',
  ]);
  const pages = async (newestFirst: boolean) => {
    const seen: bigint[] = [];
    for (let fromSeq: bigint | undefined, more = true; more; more = fromSeq !== undefined) {
      const from = fromSeq === undefined ? {} : { fromSeq };
      const page = await journal.queryEntries({ filter: { callId }, limit: 2, newestFirst, ...from });
      seen.push(...page.entries.map(({ seq }) => seq));
      fromSeq = page.nextSeq;
    }
    return seen;
  };
  const forward = await pages(false);
  expect(forward).toHaveLength(5);
  expect(await pages(true)).toEqual(forward.toReversed());
  const { input } = JSON.parse(whole.entries[1]?.dataJson ?? '{}') as { input: string };
  const body = await journal.getBody({ commitment: input });
  expect([new TextDecoder().decode(body.data), body.size]).toEqual(['{"text":"hi"}', 13n]);
  const rest = await journal.getBody({ commitment: input, offset: 7n });
  expect(new TextDecoder().decode(rest.data)).toBe(':"hi"}');
  const { note, origin } = await journal.getCheckpoint({});
  expect(note.startsWith(origin)).toBe(true);
  await expect(palyrad.client(JournalService, 'local-agent').queryEntries({}).catch(codeOf)).resolves.toBe(
    'daemon.not_permitted',
  );
});

const RULE = `@id("no-search")
@reason("Searching is switched off in this house.")
forbid (principal, action, resource == Palyra::Tool::"palyra.fs.search");
`;

test('policies on disk wait, are compared, explained and applied', async () => {
  const policy = palyrad.client(PolicyService, 'operator');
  const before = await policy.getPolicies({});
  expect(before).toMatchObject({ preset: 'coding', hasPendingEdits: false });
  expect(before.policies.map(({ policyId }) => policyId)).toContain('in-the-box');
  expect(await policy.applyPolicies({})).toMatchObject({ changed: false, policySetSha256: before.policySetSha256 });
  writeFileSync(join(palyrad.home.policies, 'own.cedar'), RULE, { mode: 0o600 });
  expect(await policy.getPolicies({})).toMatchObject({
    hasPendingEdits: true,
    policySetSha256: before.policySetSha256,
  });
  const diff = JSON.parse((await policy.diffPolicies({})).diffJson) as { changes: object; witnesses: object[] };
  expect(diff).toMatchObject({ changes: { added: ['no-search'] } });
  expect(diff.witnesses.length).toBeGreaterThan(0);
  const explained = async () => {
    const requestJson = '{"resource":"tool:palyra.fs.search","enforced":{"tier":"built_in"},"capabilities":[]}';
    const { explanationJson } = await policy.explainRequest({ requestJson });
    return (JSON.parse(explanationJson) as { decision: { policyIds: string[] } }).decision.policyIds;
  };
  expect(await explained()).not.toContain('no-search');
  const applied = await policy.applyPolicies({});
  expect(applied).toMatchObject({ changed: true, previousSha256: before.policySetSha256 });
  expect(await explained()).toContain('no-search');
  const denied = await (await call('palyra.fs.search', { pattern: 'x' })).result;
  expect(denied?.decision).toMatchObject({ policyIds: ['no-search'] });
  writeFileSync(join(palyrad.home.policies, 'own.cedar'), 'permit (', { mode: 0o600 });
  await expect(policy.applyPolicies({}).catch(codeOf)).resolves.toMatch(/^policy\./);
  expect(await policy.getPolicies({})).toMatchObject({ policySetSha256: applied.policySetSha256 });
  await expect(policy.explainRequest({ requestJson: '{"a":1,"a":2}' }).catch(codeOf)).resolves.toBe(
    'daemon.invalid_request',
  );
});
