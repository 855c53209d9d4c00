import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { until } from './launched-job.ts';

interface Opened extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly workspace: string;
  readonly instructions: string;
}

async function open(): Promise<Opened> {
  const workspace = mkdtempSync(join(tmpdir(), 'palyra-ends-'));
  const palyraHome = mkdtempSync(join(tmpdir(), 'palyra-ends-home-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(workspace, 0o755);
  const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome, environment: {} };
  const sandbox = await createSandbox({ operator, logger: { error: () => undefined } });
  return {
    sandbox,
    workspace,
    instructions: join(workspace, 'AGENTS.md'),
    async [Symbol.asyncDispose]() {
      await sandbox.close();
      rmSync(workspace, { recursive: true });
      rmSync(palyraHome, { recursive: true });
    },
  };
}

/** Again and again: also while it is being killed. */
const WRITING = 'while :; do echo obey >> AGENTS.md; done';

for (const tier of ['B', 'C'] as const) {
  test(`Tier ${tier}: when the sandbox is closed, what a command planted was put back before close returns`, async () => {
    await using opened = await open();
    const { sandbox, workspace, instructions } = opened;
    const ended = sandbox.run({ argv: ['sh', '-c', WRITING] }, sandboxProfile(workspace, { tier }));
    await until(() => existsSync(instructions));
    await sandbox.close();
    expect(existsSync(instructions)).toBe(false);
    expect(await ended).toMatchObject({ kind: 'cancelled', protectedChanged: [{ what: 'created', restored: true }] });
  });

  test(`Tier ${tier}: when the launcher is killed, what a command planted is put back, or said not to be checked`, async () => {
    await using opened = await open();
    const { sandbox, workspace, instructions } = opened;
    const ended = sandbox.run({ argv: ['sh', '-c', WRITING] }, sandboxProfile(workspace, { tier }));
    await until(() => existsSync(instructions));
    process.kill(sandbox.about.launcher.pid, 'SIGKILL');
    const result = await ended;
    expect(result.kind).toBe('lost');
    const changes = 'protectedChanged' in result ? result.protectedChanged : [];
    const isSaid = changes.some(({ restored }) => !restored);
    expect(sandbox.about.cgroups.kind === 'none' ? isSaid : !existsSync(instructions)).toBe(true);
  });
}

test('a command that is cancelled while its workspace is looked at is cancelled, and never ran', async () => {
  await using opened = await open();
  const { sandbox, workspace, instructions } = opened;
  execFileSync('sh', ['-c', 'mkdir wide; cd wide; seq 3000 | xargs mkdir'], { cwd: workspace });
  const abort = new AbortController();
  const ended = sandbox.run({ argv: ['touch', instructions] }, sandboxProfile(workspace), { signal: abort.signal });
  abort.abort();
  expect(await ended).toMatchObject({ kind: 'cancelled', facts: undefined, protectedChanged: [] });
  expect(existsSync(instructions)).toBe(false);
  // Nothing of it is in the way of the next one.
  expect(await sandbox.run({ argv: ['true'] }, sandboxProfile(workspace))).toMatchObject({ kind: 'completed' });
});
