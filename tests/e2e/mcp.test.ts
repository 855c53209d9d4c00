// The official client against `palyra mcp serve`, over stdio.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { ApprovalService, RunService, WorkspaceService } from '@palyra/api';
import { expect, test } from 'vitest';
import { OWN_TOOLS } from '../../packages/agents/src/tool-table.ts';
import { PALYRA, run } from '../hooked-agent.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

/** Of a machine that has other things to do. */
const PATIENT = { timeout: 30_000 };

async function connectTo(palyrad: PalyradProcess, workspace: string, patience = '1s'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const args = ['mcp', 'serve', '--home', palyrad.home.root, '--workspace', workspace, '--patience', patience];
  await client.connect(new StdioClientTransport({ command: PALYRA, args, stderr: 'inherit' }));
  return client;
}

test('the catalogue, a call, a refusal, a question with progress, what is pending, cancelling, and the end', async () => {
  await using palyrad = await startPalyrad();
  const workspace = join(palyrad.root, 'work');
  await mkdir(workspace);
  await writeFile(join(workspace, 'a.txt'), 'hello\n');
  await writeFile(join(workspace, '.env'), 'TOKEN=1\n');
  const client = await connectTo(palyrad, workspace);
  const call = (
    name: string,
    input: Record<string, unknown>,
    onprogress?: (said: { readonly message?: string | undefined }) => void,
  ) => client.callTool({ name, arguments: input }, onprogress === undefined ? {} : { onprogress });

  const { tools } = await client.listTools();
  const names = tools.map(({ name }) => name);
  expect(names).toContain('palyra_fs_read');
  expect(names).toContain('palyra_process_run');
  expect(names).toContain('palyra_await');
  // By these a hook knows that a call is decided here: one that is missing there would be asked about twice.
  expect(names.filter((name) => !OWN_TOOLS.has(name))).toEqual([]);
  expect(names.filter((name) => name.startsWith('agent') || name.includes('echo'))).toEqual([]);

  // A folder that nobody registered: the model is told, and the client goes on.
  const early = await call('palyra_fs_read', { path: 'a.txt' });
  expect(early).toMatchObject({ isError: true, structuredContent: { error: { code: 'cli.workspace_unknown' } } });
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });

  const read = await call('palyra_fs_read', { path: 'a.txt' });
  expect(read).toMatchObject({
    isError: false,
    structuredContent: {
      tool: 'palyra.fs.read',
      decision: { kind: 'allow' },
      outcome: { kind: 'completed' },
      attestation: { coverage: 'mcp_only' },
    },
  });
  const refused = await call('palyra_fs_read', { path: '/etc/shadow' });
  expect(refused).toMatchObject({ isError: true, structuredContent: { outcome: { kind: 'refused' } } });

  const approvals = palyrad.client(ApprovalService, 'operator');
  const noQuestion = async () => {
    await expect.poll(async () => (await approvals.listApprovals({})).approvals.length, PATIENT).toBe(0);
  };
  const said: string[] = [];
  const pending = await call('palyra_fs_read', { path: '.env' }, ({ message }) => said.push(message ?? ''));
  const { id } = (pending.structuredContent as { readonly pending: { readonly id: string } }).pending;
  expect(said).toContain(`Waiting for a human: palyra approve ${id.slice(-6)}`);
  expect(await approvals.listApprovals({})).toMatchObject({ approvals: [{ approvalId: id }] });
  expect(await call('palyra_await', { pending: 'another' })).toMatchObject({ isError: true });
  expect(await call('palyra_await', { pending: id })).toMatchObject({ structuredContent: { pending: { id } } });

  // Given up by the client: then nobody is asked any more.
  const stop = new AbortController();
  const given = client.callTool(
    { name: 'palyra_await', arguments: { pending: id } },
    { signal: stop.signal, onprogress: () => stop.abort() },
  );
  await expect(given).rejects.toThrow('abort');
  await noQuestion();

  // Hung up while a human is asked: the same.
  const another = await call('palyra_fs_read', { path: '.env' });
  expect(another.structuredContent).toHaveProperty('pending');
  await client.close();
  await noQuestion();
  const runs = palyrad.client(RunService, 'operator');
  await expect.poll(async () => (await runs.listRuns({ openOnly: true })).runs.length, PATIENT).toBe(0);
}, 120_000);

test('what a human says while the model waits reaches it: the file once it is approved, the reason when it is not', async () => {
  await using palyrad = await startPalyrad();
  const workspace = join(palyrad.root, 'work');
  await mkdir(workspace);
  await writeFile(join(workspace, '.env'), 'TOKEN=1\n');
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  // Over before anybody is asked, as where a command asks when it has run for a while.
  const client = await connectTo(palyrad, workspace, '0s');
  /** Answered after the client's patience, as `palyra` is by a person. */
  const answered = async (...answer: readonly string[]) => {
    const asked = await client.callTool({ name: 'palyra_fs_read', arguments: { path: '.env' } });
    const { id } = (asked.structuredContent as { readonly pending: { readonly id: string } }).pending;
    const [verb = '', ...options] = answer;
    expect(await run([PALYRA, verb, id.slice(-6), '--home', palyrad.home.root, ...options])).toMatchObject({ code: 0 });
    for (;;) {
      const told = await client.callTool({ name: 'palyra_await', arguments: { pending: id } });
      if ((told.structuredContent as { readonly pending?: unknown } | undefined)?.pending === undefined) return told;
    }
  };
  expect(await answered('approve', '--yes', '--scope', 'once')).toMatchObject({
    isError: false,
    content: [{ text: expect.stringContaining('TOKEN=1') }],
    structuredContent: {
      outcome: { kind: 'completed' },
      attestation: { coverage: 'mcp_only' },
    },
  });
  expect(await answered('deny', '--reason', 'Not this one.')).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('Not this one.') }],
    structuredContent: { outcome: { kind: 'refused' } },
  });
  await client.close();
}, 120_000);
