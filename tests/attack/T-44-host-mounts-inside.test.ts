// T-44, T-20: the host has something mounted inside of what a box shows, and it is writable there although what it lies in is not.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Daemon, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, type Place, sh, tierC } from './sandboxed.ts';

/**
 * systemd has it on every machine, for formats of programs; WSL has directories of /usr, containers a volume in a project. In a
 * mount namespace of its own, so that this machine stays as it is.
 */
const mounting = ({ workspace, uid }: Place) => [
  'unshare',
  '--mount',
  '--propagation',
  'private',
  '--',
  'sh',
  '-c',
  `mount -t tmpfs -o mode=0755,uid=${uid} formats /proc/sys/fs/binfmt_misc
   mount -t tmpfs -o ro graphics /usr/local/share
   mount -t tmpfs -o mode=0755,uid=${uid} below '${join(workspace, 'a volume')}'
   touch '${join(workspace, 'a volume')}/beneath'
   mount -t tmpfs -o mode=0755,uid=${uid} volume '${join(workspace, 'a volume')}'
   exec "$@"`,
  'sh',
];

const WRITE = `
for place in /proc/sys/fs/binfmt_misc "$PWD/a volume"; do
  if echo x 2>/dev/null > "$place/file"; then echo written; else echo refused; fi
done
ls -A "a volume"`;

describeBothWays((place) => {
  describe.runIf(IS_ROOT)('with mounts of the host inside [needs: root]', () => {
    let daemon: Daemon;
    beforeAll(async () => {
      mkdirSync(join(place().workspace, 'a volume'), { recursive: true });
      daemon = await startDaemon(place(), { asRoot: mounting(place()) });
    });
    afterAll(() => daemon.close());

    test('what lies in a writable place is as the host has it, and the settings of the kernel are read-only', async () => {
      const { kind, stdout } = await daemon.run(sh(WRITE), tierC(place()));
      expect({ kind, stdout }).toEqual({ kind: 'completed', stdout: 'refused\nwritten\nfile\n' });
    });

    test('what lies in a read-only place is read-only', async () => {
      const { workspace: root } = place();
      const profile = tierC(place(), { workspace: { root, access: 'read-only' } });
      const { kind, stdout } = await daemon.run(sh(WRITE), profile);
      expect({ kind, stdout }).toEqual({ kind: 'completed', stdout: 'refused\nrefused\nfile\n' });
    });

    test('T-19: a home that the host has mounted in a project is not shown', async () => {
      const { home, workspace } = place();
      writeFileSync(join(home, 'note'), 'private');
      mkdirSync(join(workspace, 'house'), { recursive: true });
      const bind = `mount --bind '${home}' '${join(workspace, 'house')}' && exec "$@"`;
      const other = await startDaemon(place(), { asRoot: ['unshare', '--mount', '--', 'sh', '-c', bind, 'sh'] });
      const { kind, stdout } = await other.run(sh('cat house/note'), tierC(place()));
      await other.close();
      // What root hands over comes without it; anybody else's command is refused.
      expect({ kind, stdout }).toEqual({ kind: place().uid === 0 ? 'completed' : 'refused', stdout: '' });
    });
  });
});
