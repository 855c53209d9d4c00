// T-41: somebody registers the whole machine, a home or our own state as a folder for agents to work in, by its name or by a
// link to it; an agent registers its own; a registered folder is replaced by a link; a run begins where none is registered.
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema, RunService, WorkspaceService } from '@palyra/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { declareLongLived } from '../../packages/testkit/src/process-mark.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
beforeAll(async () => {
  palyrad = await startPalyrad();
  declareLongLived(palyrad.child.pid ?? 0);
});
afterAll(() => palyrad[Symbol.asyncDispose]());

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(() => undefined).catch(ConnectError.from);
  return error?.findDetails(ErrorDetailSchema)[0]?.code;
}

const WIDE: readonly [string, () => string][] = [
  ['the root', () => '/'],
  ['a directory of the system', () => '/etc'],
  ['all temporary files', () => '/tmp'],
  ['the home of the operator', () => homedir()],
  ['what holds it', () => dirname(homedir())],
  ['our state', () => palyrad.home.root],
  ['what holds our state', () => palyrad.root],
  ['a part of our state', () => palyrad.home.policies],
  ['what is not there', () => join(palyrad.root, 'missing')],
  ['a path from nowhere', () => 'project'],
  ['the keys of the operator', () => join(homedir(), '.ssh')],
];

test.each(WIDE)('%s is no workspace, for operators either', async (_, path) => {
  const operator = palyrad.client(WorkspaceService, 'operator');
  expect(await codeOf(operator.addWorkspace({ path: path() }))).toBe('gateway.unsafe_workspace');
  expect((await operator.listWorkspaces({})).workspaces).toEqual([]);
});

test('neither is a link to one of them, and a link to a project is the project', async () => {
  const operator = palyrad.client(WorkspaceService, 'operator');
  symlinkSync('/', join(palyrad.root, 'link-to-root'));
  symlinkSync(palyrad.home.root, join(palyrad.root, 'link-to-state'));
  mkdirSync(join(palyrad.root, 'linked'));
  symlinkSync('linked', join(palyrad.root, 'link'));
  for (const name of ['link-to-root', 'link-to-root/', 'link-to-state', 'link-to-root/etc']) {
    expect(await codeOf(operator.addWorkspace({ path: join(palyrad.root, name) }))).toBe('gateway.unsafe_workspace');
  }
  const { workspace } = await operator.addWorkspace({ path: join(palyrad.root, 'link') });
  expect(workspace?.root).toBe(join(palyrad.root, 'linked'));
  await operator.removeWorkspace({ workspace: join(palyrad.root, 'link') });
});

test('an agent registers and removes nothing', async () => {
  const project = join(palyrad.root, 'agents-own');
  mkdirSync(project);
  const agent = palyrad.client(WorkspaceService, 'local-agent');
  await expect(agent.addWorkspace({ path: project })).rejects.toMatchObject({ code: Code.PermissionDenied });
  await expect(agent.removeWorkspace({ workspace: project })).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test('a run begins in a registered folder, as it was registered, or not at all', async () => {
  const operator = palyrad.client(WorkspaceService, 'operator');
  const runs = palyrad.client(RunService, 'local-agent');
  const project = join(palyrad.root, 'project');
  mkdirSync(join(project, 'src'), { recursive: true });
  mkdirSync(join(palyrad.root, 'secret'));
  expect(await codeOf(runs.startRun({ workspace: '' }))).toBe('gateway.workspace_not_found');
  expect(await codeOf(runs.startRun({ workspace: project }))).toBe('gateway.workspace_not_found');
  await operator.addWorkspace({ path: project });
  for (const workspace of [project, join(project, 'src'), ''])
    expect(await codeOf(runs.startRun({ workspace }))).toBeUndefined();
  const outside = [join(palyrad.root, 'secret'), `${project}/../secret`, `${project}2`, '/', palyrad.home.root, '..'];
  for (const workspace of outside) {
    expect(await codeOf(runs.startRun({ workspace }))).toBe('gateway.workspace_not_found');
  }
  // Whoever can write beside it puts a link in its place.
  renameSync(project, join(palyrad.root, 'moved'));
  symlinkSync('secret', project);
  expect(await codeOf(runs.startRun({ workspace: project }))).toBe('gateway.unsafe_workspace');
  rmSync(project);
  renameSync(join(palyrad.root, 'moved'), project);
  expect(await codeOf(runs.startRun({ workspace: project }))).toBeUndefined();
  await operator.removeWorkspace({ workspace: project });
  expect(await codeOf(runs.startRun({ workspace: project }))).toBe('gateway.workspace_not_found');
});
