import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type RunOptions, type RunResult, type Sandbox } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { until } from './launched-job.ts';

/** A command whose box is made while nobody knows yet whether it may run. */
describe.each([
  ['from nothing', 'off'],
  ['that waits in the pool', {}],
] as const)('a sandbox %s', (_, pool) => {
  let home: string;
  let workspace: string;
  let sandbox: Sandbox;

  async function open(): Promise<void> {
    home = mkdtempSync(join(tmpdir(), 'palyra-held-home-'));
    workspace = mkdtempSync(join(tmpdir(), 'palyra-held-'));
    // As root the tool is somebody else, who must get there.
    chmodSync(workspace, 0o777);
    const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome: home, environment: {} };
    sandbox = await createSandbox({ operator, logger: { error: () => undefined }, pool });
  }
  async function close(): Promise<void> {
    await sandbox.close();
    rmSync(workspace, { recursive: true });
    rmSync(home, { recursive: true });
  }

  const touched = () => existsSync(join(workspace, 'touched'));
  const touch = (tier: 'B' | 'C', options: RunOptions) =>
    sandbox.run(
      { argv: ['sh', '-c', 'touch touched; echo ran'] },
      sandboxProfile(workspace, { tier, interpreters: 'allowed' }),
      options,
    );

  // Each with a pool of its own: what waits in it is counted, and is of this tier then.
  describe.each(['B', 'C'] as const)('in Tier %s', (tier) => {
    beforeAll(open);
    afterAll(close);

    /** One that waits for its word, and then has it. */
    const heldOnce = async () => {
      // So that there is something in the pool, where there is one.
      do await touch(tier, {});
      while (pool !== 'off' && (await sandbox.warmed()) === 0);
      rmSync(join(workspace, 'touched'));

      const word = Promise.withResolvers<void>();
      const result = touch(tier, { mayBegin: word.promise });
      // As long as ten of them take to be made.
      await new Promise((resolve) => setTimeout(resolve, 150));
      const touchedBefore = touched();
      const letGoAt = Date.now();
      word.resolve();
      const ended = await result;
      return { ended, letGoAt, touchedBefore };
    };

    test('is made, and its command runs when it is let go: then it has started', async () => {
      let held = await heldOnce();
      // What is hidden from Tier B lies beside what other tests make and remove meanwhile: then the plan is another one.
      for (let more = 0; more < 5 && pool !== 'off' && !isPooled(held.ended); more += 1) held = await heldOnce();
      const { ended, letGoAt, touchedBefore } = held;
      expect(ended).toMatchObject({ kind: 'completed', exitCode: 0, pooled: pool !== 'off' });
      expect('startedAt' in ended && ended.startedAt).toBeGreaterThanOrEqual(letGoAt);
      expect([touchedBefore, touched()]).toEqual([false, true]);
    });

    test('has all of its time when it is let go, however long it waited', async () => {
      const word = Promise.withResolvers<void>();
      const limits = { wallMs: 400, idleMs: 400 };
      const profile = sandboxProfile(workspace, { tier, interpreters: 'allowed', limits });
      const result = sandbox.run({ argv: ['sh', '-c', 'sleep 0.1; echo ran'] }, profile, { mayBegin: word.promise });
      await new Promise((resolve) => setTimeout(resolve, 600));
      word.resolve();
      const ended = await result;
      expect(ended).toMatchObject({ kind: 'completed', exitCode: 0 });
      if (!('usage' in ended)) throw new Error('It did not run.');
      expect(ended.usage.wallMs).toBeLessThanOrEqual(ended.endedAt - ended.startedAt + 1);
    });

    test('is given up with its call, and nothing ran in it', async () => {
      rmSync(join(workspace, 'touched'), { force: true });
      const stop = new AbortController();
      const result = touch(tier, { mayBegin: new Promise(() => undefined), signal: stop.signal });
      await new Promise((resolve) => setTimeout(resolve, 50));
      stop.abort();
      expect((await result).kind).toBe('cancelled');
      expect(touched()).toBe(false);
    });

    test('is ended when whoever had to let it go could not', async () => {
      const result = await touch(tier, { mayBegin: Promise.reject(new Error('The disk is full.')) });
      expect(result).toMatchObject({ kind: 'refused', code: 'sandbox.not_begun' });
      expect(touched()).toBe(false);
    });
  });

  test('leaves nothing behind, also when it is closed while a command waits', async () => {
    await open();
    // Nobody who asked is there any more: neither is it let go, nor given up.
    const waiting = touch('C', { mayBegin: new Promise(() => undefined) });
    await new Promise((resolve) => setTimeout(resolve, 150));
    const { pid } = sandbox.about.launcher;
    await sandbox.close();
    expect(['cancelled', 'refused', 'failed_to_start']).toContain((await waiting).kind);
    expect(touched()).toBe(false);
    await close();
    await until(() => !existsSync(`/proc/${pid}`));
    expect(existsSync(`/proc/${pid}`)).toBe(false);
  });
});

function isPooled(result: RunResult): boolean {
  return 'pooled' in result && result.pooled;
}
