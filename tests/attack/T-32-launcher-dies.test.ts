// T-32: the launcher is killed while a command runs: what the command did is done, and nobody is told that it never ran.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, sh, tierB, tierC, until } from './sandboxed.ts';

describeBothWays((place) => {
  test.each([
    ['B', tierB],
    ['C', tierC],
  ] as const)('Tier %s: what had begun is lost, with what it said until then', async (tier, profile) => {
    const daemon = await startDaemon(place(), {});
    const done = join(place().workspace, `done-${tier}`);
    const started = daemon.start(sh(`echo begun; echo work > ${done}; sleep 100`), profile(place()));
    await until('it works', () => existsSync(done) && started.text().includes('begun'));
    process.kill(daemon.launcherPid, 'SIGKILL');
    const { outcome, stdout } = await started.ended;
    await daemon.close();
    expect(outcome).toMatchObject({ kind: 'lost', facts: { processes: expect.any(Array) } });
    expect(stdout).toBe('begun\n');
  });
});
