import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  type CallToolResponse,
  ErrorDetailSchema,
  OutcomeKind,
  RunService,
  ToolService,
  WorkspaceService,
} from '@palyra/api';
import { expect, test } from 'vitest';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

interface RunningCall {
  readonly result: Promise<CallToolResponse>;
  readonly runId: string;
}

/** A call whose tool runs by now. */
async function startCall(palyrad: PalyradProcess, tool: string, input: object): Promise<RunningCall> {
  const workspace = join(palyrad.root, 'project');
  mkdirSync(workspace, { recursive: true });
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  const runs = palyrad.client(RunService, 'local-agent');
  const { runId } = await runs.startRun({ workspace });
  const result = runs.callTool({ runId, proposal: { key: 'k', tool, inputJson: JSON.stringify(input) } });
  result.catch(() => undefined);
  for await (const { event } of palyrad.client(RunService, 'local-agent').watchRun({ runId })) {
    if (event?.event.case === 'executionStarted') break;
  }
  return { result, runId };
}

test('what runs may end, nothing new begins, and its result is told before palyrad is gone', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nshutdown_seconds = 600\n' });
  const untilTold = 'until [ -e go ]; do sleep 0.05; done; echo done';
  const { result } = await startCall(palyrad, 'palyra.process.run', { argv: ['bash', '-c', untilTold] });
  const tools = palyrad.client(ToolService, 'local-agent');
  await tools.listTools({});
  palyrad.child.kill('SIGTERM');
  const refusal = async () => {
    const error = await tools.listTools({}).catch(ConnectError.from);
    return error instanceof ConnectError ? error.findDetails(ErrorDetailSchema)[0]?.code : undefined;
  };
  await expect.poll(refusal, { timeout: 20_000 }).toBe('daemon.stopping');
  writeFileSync(join(palyrad.root, 'project/go'), '');
  expect(await result).toMatchObject({ result: { outcome: { kind: OutcomeKind.COMPLETED, exitCode: 0 } } });
  expect(await palyrad.ended()).toBe(0);
});

test('what takes longer than it may is cancelled, and its processes are gone', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nshutdown_seconds = 0\n' });
  const { result } = await startCall(palyrad, 'palyra.process.run', { argv: ['sleep', '600'] });
  palyrad.child.kill('SIGTERM');
  const ended = await result.catch((error: unknown) => ConnectError.from(error).code);
  expect([Code.Unavailable, OutcomeKind.CANCELLED]).toContain(
    typeof ended === 'number' ? ended : ended.result?.outcome?.kind,
  );
  expect(await palyrad.ended()).toBe(0);
  expect(existsSync(join(palyrad.home.root, 'palyrad.json'))).toBe(false);
});

test('whoever asks twice has it gone at once, with all that ran', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nshutdown_seconds = 600\n' });
  await startCall(palyrad, 'palyra.process.run', { argv: ['sleep', '600'] });
  palyrad.child.kill('SIGTERM');
  await expect.poll(() => palyrad.log(), { timeout: 20_000 }).toContain('palyrad ends.');
  palyrad.child.kill('SIGTERM');
  expect(await palyrad.ended()).toBe(1);
  expect(existsSync(join(palyrad.home.root, 'palyrad.json'))).toBe(false);
});

test('after its end the run is over, and the next palyrad says so', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nshutdown_seconds = 0\n' });
  const { runId } = await startCall(palyrad, 'palyra.sleep', { ms: 600_000 });
  const again = await palyrad.restart();
  const events: (string | undefined)[] = [];
  for await (const { event } of again.client(RunService, 'local-agent').watchRun({ runId })) {
    events.push(event?.event.case);
  }
  expect(events).toContain('runEnded');
  again.child.kill('SIGTERM');
  expect(await again.ended()).toBe(0);
});
