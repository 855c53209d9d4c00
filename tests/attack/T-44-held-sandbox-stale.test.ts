// T-44: while a box waits for the record of its call, what it has mounted is replaced on the host.
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';

let base: string;
let workspace: string;
let sandbox: Sandbox;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), 'palyra-held-stale-'));
  // As root the tool is somebody else, who must get there.
  chmodSync(base, 0o755);
  workspace = join(base, 'work');
  for (const name of ['home', 'work', 'next']) mkdirSync(join(base, name), { mode: 0o755 });
  const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: join(base, 'home'), environment: {} };
  sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool: 'off' });
});
afterEach(async () => {
  await sandbox.close();
  rmSync(base, { recursive: true });
});

/** Longer than its box takes to be made and measured. */
const MADE_MS = 300;

/** What the command prints, when this happens between its box and its record. */
async function heldDuring(happens: () => void, script: string, masked: readonly string[] = []) {
  const word = Promise.withResolvers<void>();
  const profile = sandboxProfile(workspace, { maskedPaths: masked });
  const running = sandbox.run({ argv: ['sh', '-c', script] }, profile, { mayBegin: word.promise });
  await new Promise((resolve) => setTimeout(resolve, MADE_MS));
  happens();
  word.resolve();
  const result = await running;
  return 'output' in result ? Buffer.from(result.output.stdout).toString() : result.code;
}

test('a masked file that is replaced while its box waits is not seen by the command', async () => {
  const masked = join(workspace, '.env');
  writeFileSync(masked, 'the old secret', { mode: 0o644 });
  // As editors and tools save a file: the mount on the old one is gone then, in every sandbox.
  const replace = () => {
    writeFileSync(join(workspace, '.next'), 'the new secret', { mode: 0o644 });
    renameSync(join(workspace, '.next'), masked);
  };
  expect(await heldDuring(replace, 'cat .env', [masked])).toBe('sandbox.enforcement_failed');
});

test('a command does not begin in a workspace that is no longer the one at its place', async () => {
  writeFileSync(join(workspace, 'which'), 'the old one', { mode: 0o644 });
  writeFileSync(join(base, 'next/which'), 'the new one', { mode: 0o644 });
  const swap = () => {
    renameSync(workspace, join(base, 'away'));
    renameSync(join(base, 'next'), workspace);
  };
  expect(await heldDuring(swap, 'cat which')).toBe('sandbox.enforcement_failed');
});

test('what only changes in the workspace is no reason', async () => {
  const masked = join(workspace, '.env');
  writeFileSync(masked, 'secret', { mode: 0o644 });
  const write = () => writeFileSync(join(workspace, 'which'), 'written meanwhile', { mode: 0o644 });
  expect(await heldDuring(write, 'cat .env which', [masked])).toBe('written meanwhile');
});
