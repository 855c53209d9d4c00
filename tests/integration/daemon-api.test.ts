import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Code, ConnectError } from '@connectrpc/connect';
import { credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ErrorDetailSchema, StatusService, ToolService, VaultService, WorkspaceService } from '@palyra/api';
import { credentialDirectory, openCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

test('the address file says where it is, and is for nobody else to read', () => {
  expect(palyrad.address).toMatch(/^127\.0\.0\.1:\d+$/);
  expect(statSync(join(palyrad.home.root, 'palyrad.json')).mode & 0o777).toBe(0o600);
});

test('our own client is served over gRPC', async () => {
  const { tools } = await palyrad.client(ToolService, 'local-agent').listTools({});
  expect(tools.map(({ name }) => name)).toContain('palyra.process.run');
  expect(tools.map(({ name }) => name)).not.toContain('palyra.echo');
  const all = await palyrad.client(ToolService, 'local-agent').listTools({ includeHidden: true });
  expect(all.tools.map(({ name }) => name)).toContain('palyra.echo');
});

test.each([
  ['--http2', '2'],
  ['--http1.1', '1.1'],
])('plain curl is served over Connect with JSON (%s)', async (flag, version) => {
  const answer = await palyrad.curl('ToolService/ListTools', {}, 'local-agent', [flag]);
  expect(answer).toMatchObject({ status: 200, version });
  expect(JSON.stringify(answer.body)).toContain('palyra.fs.read');
});

test('a gRPC client that is not ours is served', async () => {
  const directory = fileURLToPath(new URL('../../packages/api/proto', import.meta.url));
  const loaded = loadPackageDefinition(loadSync('palyra/v1/status.proto', { includeDirs: [directory] }));
  const { StatusService: Service } = Object(loaded['palyra']).v1 as { StatusService: ServiceClientConstructor };
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'local-agent'));
  const [ca, key, certificate] = [tls.authorities, tls.key, tls.certificate].map((text) => Buffer.from(text));
  const client = new Service(palyrad.address, credentials.createSsl(ca, key, certificate));
  const status = await new Promise<Record<string, unknown>>((resolve, reject) => {
    client['GetStatus']?.({}, (error: Error | null, answer: Record<string, unknown>) =>
      error === null ? resolve(answer) : reject(error),
    );
  });
  client.close();
  expect(status).toMatchObject({ version: '0.1.0', separation: 'personal', storage: 'sqlite', preset: 'coding' });
});

test('an operator registers a workspace, and agents see it', async () => {
  const project = join(palyrad.root, 'project');
  mkdirSync(project);
  const operator = palyrad.client(WorkspaceService, 'operator');
  const first = await operator.addWorkspace({ path: `${project}/` });
  expect(first).toMatchObject({ added: true, workspace: { root: project, addedBy: 'user:ada' } });
  expect(await operator.addWorkspace({ path: project })).toMatchObject({ added: false });
  const { workspaces } = await palyrad.client(WorkspaceService, 'local-agent').listWorkspaces({});
  expect(workspaces.map(({ root }) => root)).toEqual([project]);
  await operator.removeWorkspace({ workspace: first.workspace?.workspaceId ?? '' });
  expect((await operator.listWorkspaces({})).workspaces).toEqual([]);
});

test('an error has the code, the sentence and the fix of the command line', async () => {
  const error = await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: '/' }).catch(ConnectError.from);
  if (!(error instanceof ConnectError)) throw new Error('it was taken');
  expect(error.code).toBe(Code.InvalidArgument);
  expect(error.findDetails(ErrorDetailSchema)).toEqual([
    expect.objectContaining({
      code: 'gateway.unsafe_workspace',
      message: 'The workspace is the whole file system.',
      fix: 'Name the directory of one project.',
    }),
  ]);
});

test('what is not there yet says so', async () => {
  await expect(palyrad.client(VaultService, 'operator').listSecrets({})).rejects.toMatchObject({
    code: Code.Unimplemented,
  });
});

test('what is enforced is told, and of other principals nothing to agents', async () => {
  const { tiers, listeners, agents } = await palyrad.client(StatusService, 'local-agent').getStatus({});
  expect(tiers.map(({ tier }) => tier)).toEqual(['C', 'B']);
  expect(listeners).toMatchObject([{ name: 'api', address: palyrad.address }]);
  expect(agents).toEqual([]);
});
