// T-16: sandboxes that wait for a command outlive the daemon that started them.
import { expect, test } from 'vitest';
import { boxesWith, cgroupsOf, describeBothWays, tierC, until } from './sandboxed.ts';
import { warmDaemon } from './warm-daemon.ts';

describeBothWays((place) => {
  test('when the daemon is killed nothing of them stays', async () => {
    const { workspace } = place();
    const daemon = await warmDaemon(place(), tierC(place()));
    expect(boxesWith(workspace).length).toBeGreaterThan(0);
    await daemon.kill();
    await until('they are gone', () => boxesWith(workspace).length === 0);
    await until('their cgroups are gone', () => cgroupsOf(daemon.launcherPid).length === 0);
  });

  test('when it is closed they are gone with it', async () => {
    const daemon = await warmDaemon(place(), tierC(place()));
    await daemon.close();
    expect(boxesWith(place().workspace)).toEqual([]);
    expect(cgroupsOf(daemon.launcherPid)).toEqual([]);
  });
});
