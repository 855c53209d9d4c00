// T-36: a caller says who it is: in headers that other servers believe, with a token beside its certificate, with a
// certificate where a token is asked for; a token whose scope is left. T-40: an agent with a token would be in a box with the
// operator's login for another agent.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { DeviceService, RunService, WorkspaceService } from '@palyra/api';
import { anonymousTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
let token: string;
beforeAll(async () => {
  palyrad = await startPalyrad({ config: '[daemon]\ntoken_listen = "127.0.0.1:0"\n' });
  declareLongLived(palyrad.child.pid ?? 0);
  const wanted = { kind: 'operator', principal: 'user:ada', actions: ['daemon.status'], ttlMs: 600_000n };
  ({ token } = await palyrad.client(DeviceService, 'operator').createToken(wanted));
});
afterAll(() => palyrad[Symbol.asyncDispose]());

const CLAIMS = [
  'x-palyra-principal: user:ada',
  'x-palyra-device: 01M7JQZDDDEB8WD37DFAT97XVG',
  'x-palyra-roles: admin,operator,approver',
  'x-forwarded-user: user:ada',
  'x-remote-user: user:ada',
  'x-forwarded-client-cert: Subject="CN=ada"',
  'x-client-verify: SUCCESS',
  'forwarded: for=127.0.0.1;by=palyra',
  'cookie: palyra_session=operator',
];

test.each(['--http2', '--http1.1'])('an agent stays an agent, whatever its headers say (%s)', async (protocol) => {
  const claims = [...CLAIMS, `authorization: Bearer ${token}`].flatMap((line) => ['--header', line]);
  const claimed = { principal: 'user:ada', roles: ['admin'] };
  const asked = await palyrad.curl('DeviceService/WhoAmI', claimed, 'local-agent', [protocol, ...claims]);
  expect(asked.body).toMatchObject({ principal: 'agent:local', roles: ['agent'] });
  for (const rpc of ['StatusService/Shutdown', 'DeviceService/ListDevices', 'PolicyService/ApplyPolicies']) {
    const refused = await palyrad.curl(rpc, {}, 'local-agent', [protocol, ...claims]);
    expect(refused).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
  }
});

async function curlToken(rpc: string, more: readonly string[]): Promise<string> {
  const { tokens } = JSON.parse(readFileSync(join(palyrad.home.root, 'palyrad.json'), 'utf8')) as { tokens: string };
  const files = mkdtempSync(join(tmpdir(), 'palyra-token-'));
  try {
    const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'operator'));
    for (const [name, text] of Object.entries(tls)) writeFileSync(join(files, name), text, { mode: 0o600 });
    const place = (name: string) => join(files, name);
    const argv = ['--silent', '--cacert', place('authorities'), '--cert', place('certificate'), '--key', place('key')];
    const json = ['--header', 'content-type: application/json', '--data', '{}'];
    const { stdout } = await promisify(execFile)('curl', [
      ...argv,
      ...json,
      ...more,
      `https://${tokens}/palyra.v1.${rpc}`,
    ]);
    return stdout;
  } finally {
    rmSync(files, { recursive: true });
  }
}

test('where tokens are asked for, the certificate of an operator is none', async () => {
  expect(await curlToken('DeviceService/WhoAmI', [])).toContain('"code":"unauthenticated"');
  const bearer = ['--header', `authorization: Bearer ${token}`];
  expect(JSON.parse(await curlToken('DeviceService/WhoAmI', bearer))).toEqual({
    principal: 'user:ada',
    roles: ['operator'],
  });
});

test('a token is for what it was made for, whatever its principal may', async () => {
  const bearer = ['--header', `authorization: Bearer ${token}`];
  for (const rpc of ['ToolService/ListTools', 'StatusService/Shutdown', 'RunService/StartRun', 'RunService/CallTool']) {
    expect(await curlToken(rpc, bearer)).toMatch(/"code":"(?:unauthenticated|permission_denied)"/);
  }
  // It may begin a run, and call nothing in it: policy knows its principal only, who may.
  const wanted = { kind: 'agent', principal: 'agent:ci', actions: ['run.start'], ttlMs: 600_000n };
  const { token: idle } = await palyrad.client(DeviceService, 'operator').createToken(wanted);
  const narrow = ['--header', `authorization: Bearer ${idle}`];
  expect(await curlToken('RunService/StartRun', narrow)).toContain('gateway.workspace_not_found');
  expect(await curlToken('RunService/CallTool', narrow)).toContain('The token is not for tool.execute.');
});

test('what a token has open ends when it is revoked', async () => {
  const project = join(palyrad.root, 'project');
  mkdirSync(project);
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: project });
  const operator = palyrad.client(DeviceService, 'operator');
  const actions = ['run.start', 'run.read'];
  const made = await operator.createToken({ kind: 'agent', principal: 'agent:ci', actions, ttlMs: 600_000n });
  const { tokens } = JSON.parse(readFileSync(join(palyrad.home.root, 'palyrad.json'), 'utf8')) as { tokens: string };
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'operator'));
  const transport = createGrpcTransport({
    baseUrl: `https://${tokens}`,
    nodeOptions: anonymousTlsOptions(tls.authorities),
  });
  const runs = createClient(RunService, transport);
  const headers = { authorization: `Bearer ${made.token}` };
  await expect(runs.startRun({ workspace: project, surface: 'wrap' }, { headers })).rejects.toThrow('on this host');
  const { runId } = await runs.startRun({ workspace: project }, { headers });
  const events = runs.watchRun({ runId }, { headers })[Symbol.asyncIterator]();
  expect((await events.next()).value?.event?.event.case).toBe('runStarted');
  const ended = events.next().then(
    () => 'told',
    () => 'ended',
  );
  await operator.revokeToken({ tokenId: made.tokenId });
  expect(await ended).toBe('ended');
});
