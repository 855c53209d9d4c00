// T-15: persistence. For a long time nothing happens in a workspace, so that it is watched instead of gone through; then a
// repository is made where nobody would look, with or without a storm of other changes around it.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, describeRoot, python, sh, tierB, tierC } from './sandboxed.ts';

const PACKAGES = 'mkdir src; for i in $(seq 0 59); do mkdir -p node_modules/p$i/lib/deep src/d$i; done';
/** More events than the kernel keeps, from all sides, before and after the one that counts. */
const STORM = `
import os
def storm():
  for i in range(9000):
    os.close(os.open('src/d%d/x' % (i % 60), os.O_CREAT | os.O_WRONLY))
    os.close(os.open('node_modules/p%d/x' % (i % 60), os.O_CREAT | os.O_WRONLY))
    if i % 2: os.unlink('src/d%d/x' % (i % 60))
storm()
os.system('sh plant.sh')
storm()
`;
const PLANT = 'cd node_modules/p7/lib/deep; git init -q .; git config core.fsmonitor ./evil';
const FOUND = ['created node_modules/p7/lib/deep/.git/config'];

describeBothWays((place) => {
  test('what the operator has closed to us is told every time, however quiet it is', async () => {
    const { workspace, operator } = makeWorkspace(place(), `${PACKAGES}; mkdir closed; chmod 0 closed`);
    const told = place().uid === 0 ? [] : ['changed closed (not restored)'];
    for (let quiet = 0; quiet < 12; quiet += 1) {
      expect(changesOf(await place().daemon.run(sh('true'), tierC({ workspace })), workspace)).toEqual(told);
    }
    expect(operator('stat -c %a closed')).toBe('0\n');
  });

  test.each([
    ['alone', sh(PLANT)],
    ['in a storm', python(STORM)],
  ])('a trap in a quiet tree is found: %s', async (_, attack) => {
    const { workspace, operator } = makeWorkspace(place(), `${PACKAGES}; echo '${PLANT}' > plant.sh`);
    const daemon = await startDaemon(place());
    try {
      // A look each before and after.
      for (let quiet = 0; quiet < 12; quiet += 1) {
        expect(changesOf(await daemon.run(sh('true'), tierC({ workspace })), workspace)).toEqual([]);
      }
      const ended = await daemon.run(attack, tierC({ workspace }));
      expect({ said: ended.stderr, detail: ended.detail, changes: changesOf(ended, workspace) }).toEqual({
        said: '',
        detail: '0',
        changes: FOUND,
      });
      expect(operator('git -C node_modules/p7/lib/deep config core.fsmonitor || true')).toBe('');
      // And again, in what was gone through just now.
      for (let quiet = 0; quiet < 12; quiet += 1) await daemon.run(sh('true'), tierC({ workspace }));
      const again = await daemon.run(
        sh(`${PLANT}; cd ../../../..; echo evil > src/d9/AGENTS.md`),
        tierC({ workspace }),
      );
      expect(changesOf(again, workspace)).toEqual([
        'changed node_modules/p7/lib/deep/.git/config',
        'created src/d9/AGENTS.md',
      ]);
    } finally {
      await daemon.close();
    }
  });
});

/** So that this machine stays as it is. */
const APART = ['unshare', '--mount', '--propagation', 'private', '--'];

// A mount over a directory is no event in it, and hides the one that is watched.
describeRoot((place) => {
  test('a trap in what was mounted into a quiet tree is found', async () => {
    const { workspace } = makeWorkspace(place(), PACKAGES, 71_234);
    const mounted = join(workspace, 'src/d7');
    const daemon = await startDaemon(place(), { asRoot: APART });
    const inNamespace = (...argv: readonly string[]) =>
      execFileSync('nsenter', ['--target', String(daemon.pid), '--mount', '--', ...argv], { encoding: 'utf8' });
    try {
      for (let quiet = 0; quiet < 12; quiet += 1) await daemon.run(sh('true'), tierB({ workspace }));
      inNamespace('mount', '-t', 'tmpfs', '-o', 'uid=71234,gid=71234,mode=755', 'palyra-test', mounted);
      const plant = 'cd src/d7; git init -q .; git config core.fsmonitor ./evil';
      const ended = await daemon.run(sh(plant), tierB({ workspace }));
      expect({ said: ended.stderr, changes: changesOf(ended, workspace) }).toEqual({
        said: '',
        changes: ['created src/d7/.git/config'],
      });
      expect(inNamespace('cat', join(mounted, '.git/config'))).not.toContain('evil');
    } finally {
      await daemon.close();
    }
  });
});
