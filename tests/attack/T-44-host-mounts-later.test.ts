// T-44: the host mounts something after the box was measured, and it appears in the box, writable where all was read-only.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, sh, textOf, tierC, until } from './sandboxed.ts';

/** As on every machine with systemd; in a mount namespace of its own, so that this machine stays as it is. */
const SHARED = ['unshare', '--mount', '--propagation', 'shared', '--'];

const SCRIPT = 'echo waiting; while [ ! -e go ]; do :; done; ls mnt; grep -c "master:\\|shared:" /proc/self/mountinfo';

describeBothWays((place) => {
  test.runIf(IS_ROOT)('nothing that the host mounts later appears [needs: root]', async () => {
    const { workspace } = place();
    mkdirSync(join(workspace, 'mnt'), { recursive: true });
    const daemon = await startDaemon(place(), { asRoot: SHARED });
    const inNamespace = (...argv: readonly string[]) =>
      execFileSync('nsenter', ['--target', String(daemon.pid), '--mount', '--', ...argv]);
    try {
      expect(textOf(`/proc/${daemon.pid}/mountinfo`)).toContain('shared:');
      const started = daemon.start(sh(SCRIPT), tierC(place(), { workspace: { root: workspace, access: 'read-only' } }));
      await started.running;
      await until('it waits', () => started.text().includes('waiting'));
      inNamespace('mount', '-t', 'tmpfs', 'late', join(workspace, 'mnt'));
      inNamespace('touch', join(workspace, 'mnt/late'));
      inNamespace('touch', join(workspace, 'go'));
      const { stdout } = await started.ended;
      inNamespace('umount', join(workspace, 'mnt'));
      expect(stdout).toBe('waiting\n0\n');
    } finally {
      await daemon.close();
    }
  });
});
