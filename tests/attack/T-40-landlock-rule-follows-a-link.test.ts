// T-40: while a Tier B tool is started, what Landlock shall allow is swapped for a link to what it shall hide.
import { chownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeOrdinary, python, SWAP, sh, tierB, tierC, uniqueMark } from './sandboxed.ts';

describeOrdinary((place) => {
  test('a rule is for what was listed, never for what a link in its place points to', async () => {
    const { workspace, palyraHome, daemon } = place();
    const { uid, gid } = statSync(workspace);
    const [listed, link, masked] = ['listed', 'link', 'masked'].map((name) => join(workspace, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [listed, masked]) {
      mkdirSync(path);
      chownSync(path, uid, gid);
    }
    symlinkSync(palyraHome, link);
    const secret = uniqueMark();
    writeFileSync(join(palyraHome, 'stolen'), secret);
    chownSync(join(palyraHome, 'stolen'), uid, gid);

    const swapping = daemon.start(python(SWAP, listed, link), tierC(place()));
    await swapping.running;
    // A mask in the workspace makes everything else in it a rule of its own.
    const profile = tierB(place(), { maskedPaths: [masked] });
    for (let run = 0; run < 30; run += 1) {
      const { stdout } = await daemon.run(sh(`cat ${join(palyraHome, 'stolen')}`), profile);
      expect(stdout).not.toContain(secret);
    }
    swapping.cancel();
    await swapping.ended;
    for (const path of [listed, link, masked]) rmSync(path, { recursive: true, force: true });
  });
});
