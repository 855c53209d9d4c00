/**
 * T-16: palyrad starts in a container that sees the host's cgroups, where no launcher of the host has a number; what runs in their
 * cgroups looks like left behind to it, and may fork no more.
 */
import { expect, test } from 'vitest';
import { startDaemon } from './sandbox-daemon.ts';
import { describeRoot, sh, tierB, tierC } from './sandboxed.ts';

describeRoot((place) => {
  test.each([
    ['B', tierB],
    ['C', tierC],
  ] as const)('Tier %s: what runs goes on', async (tier, profile) => {
    const { daemon } = place();
    const held = daemon.start(sh(`while ! test -e go-${tier}; do sleep 0.05; done; echo went on`), profile(place()));
    await held.running;
    const stranger = await startDaemon(place(), {
      asRoot: ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', '--'],
    });
    await stranger.close();
    const go = await daemon.run(sh(`touch go-${tier}`), profile(place()));
    expect(go.kind).toBe('completed');
    expect(await held.ended).toMatchObject({ kind: 'completed', stdout: 'went on\n', stderr: '' });
  });
});
