import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApprovalScope, ApprovalService, OutcomeKind, RunService, WorkspaceService } from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { openOperatorCredential } from '@palyra/identity';
import { expect, test } from 'vitest';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { isKind, kindOf, openStream, propose, resume, start } from './api-stream.ts';

const ECHO = propose('echo', 'palyra.echo', { text: 'hi' });
const SLEEP = propose('sleep', 'palyra.sleep', { ms: 3_600_000 });
const READ = propose('read', 'palyra.fs.read', { path: '.env' });

async function approve(palyrad: PalyradProcess): Promise<string> {
  const approvals = palyrad.client(ApprovalService, 'operator');
  const { approvals: open } = await approvals.listApprovals({});
  const [card] = open;
  if (card === undefined || open.length > 1) throw new Error(`There are ${open.length} questions.`);
  const { approvalId, promptSha256 } = card;
  const answer = { approve: true, scope: ApprovalScope.ONCE, promptSha256 };
  const { statement } = await approvals.draftDecision({ approvalId, answer });
  const { key } = openOperatorCredential(palyrad.home.identity);
  const { kind } = await approvals.recordDecision({
    statement,
    signature: new Uint8Array(key.sign(signedBytes(statement))),
  });
  return kind;
}

// T-11, T-32: killed while one call has ended, one runs and one waits for a human.
test('palyrad killed in mid-run and started again: results have the numbers they had, and nothing is told or done twice', async () => {
  let palyrad = await startPalyrad();
  try {
    const project = join(palyrad.root, 'project');
    mkdirSync(project);
    writeFileSync(join(project, '.env'), 'PORT=1\n');
    await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: project });
    const stream = openStream(palyrad.client(RunService, 'local-agent'), start());
    const { event: begun } = await stream.until(isKind('runStarted'));
    const runId = begun.case === 'runStarted' ? begun.value.runId : '';
    stream.say(ECHO);
    const result = await stream.until(isKind('result', 'echo'));
    const attestation = await stream.until(isKind('attestation', 'echo'));
    stream.say(SLEEP);
    await stream.until(isKind('executionStarted', 'sleep'));
    stream.say(READ);
    const { event: asked } = await stream.until(isKind('approvalRequested', 'read'));

    palyrad.child.kill('SIGKILL');
    await palyrad.ended();
    await expect(stream.rest()).rejects.toMatchObject({ name: 'ConnectError' });
    palyrad = await palyrad.restart();

    const heardAfter = async (cursor: bigint) => {
      const again = openStream(palyrad.client(RunService, 'local-agent'), resume(runId, cursor));
      await again.until(isKind('attestation', 'sleep'));
      again.drop();
      return again.events.map((event) => [kindOf(event), event.callKey, event.sequence]);
    };
    const lost = await heardAfter(attestation.sequence);
    expect(lost.map(([kind, key]) => [kind, key])).toEqual([
      ['result', 'sleep'],
      ['attestation', 'sleep'],
    ]);
    expect(await heardAfter(result.sequence)).toEqual([['attestation', 'echo', attestation.sequence], ...lost]);
    expect(await heardAfter(0n)).toEqual([
      ['runStarted', '', stream.events[0]?.sequence],
      ['result', 'echo', result.sequence],
      ['attestation', 'echo', attestation.sequence],
      ...lost,
    ]);

    const again = openStream(
      palyrad.client(RunService, 'local-agent'),
      resume(runId, stream.events.at(-1)?.sequence ?? 0n),
    );
    // Whoever knows nothing of their end proposes them again.
    again.say(SLEEP);
    again.say(READ);
    const interrupted = await again.until(isKind('result', 'sleep'));
    expect(interrupted.event.value).toMatchObject({
      outcome: { kind: OutcomeKind.UNKNOWN_OUTCOME, code: 'gateway.interrupted' },
    });
    expect((await again.until(isKind('approvalRequested', 'read'))).event).toEqual(asked);
    expect(await approve(palyrad)).toBe('decided');
    const read = await again.until(isKind('result', 'read'));
    expect(read.event.value).toMatchObject({ outcome: { kind: OutcomeKind.COMPLETED } });
    again.say({ case: 'endRun', value: {} });
    const rest = await again.rest();
    expect(rest.filter(isKind('result')).map(({ callKey }) => callKey)).toEqual(['sleep', 'read']);
    const numbers = [...stream.events, ...rest].map(({ sequence }) => sequence);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => Number(one - other)));
  } finally {
    await palyrad[Symbol.asyncDispose]();
  }
});
