// T-14: somebody who can write the directory above swaps a workspace for a link, before or while a command is started in it.
import { chownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { describeBothWays, type Place, python, SWAP, sh, tierB, tierC, uniqueMark } from './sandboxed.ts';

interface Trap {
  readonly directory: string;
  readonly link: string;
  readonly secret: string;
  remove(): void;
}

/** A workspace in the workspace, and beside it a link to what its owner keeps elsewhere. */
function trapIn({ workspace }: Pick<Place, 'workspace'>): Trap {
  const { uid, gid } = statSync(workspace);
  const [directory, link] = [join(workspace, 'inner'), join(workspace, 'link')];
  const elsewhere = join(dirname(workspace), `elsewhere-${uniqueMark()}`);
  const secret = uniqueMark();
  for (const path of [directory, elsewhere]) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    chownSync(path, uid, gid);
  }
  writeFileSync(join(elsewhere, 'secret'), secret, { mode: 0o600 });
  chownSync(join(elsewhere, 'secret'), uid, gid);
  symlinkSync(elsewhere, link);
  const remove = () => {
    for (const path of [directory, link, elsewhere]) rmSync(path, { recursive: true, force: true });
  };
  return { directory, link, secret, remove };
}

describeBothWays((place) => {
  test('a workspace that is a link, or lies behind one, is refused', async () => {
    const trap = trapIn(place());
    for (const root of [trap.link, join(trap.link, '.')]) {
      for (const profile of [tierB, tierC]) {
        const { outcome } = await place().daemon.run(
          sh('cat secret'),
          profile({ workspace: root.replace(/\/\.$/, '') }),
        );
        expect(outcome).toMatchObject({ kind: 'refused', code: 'sandbox.unsafe_workspace' });
      }
    }
    trap.remove();
  });

  test('a path of the profile that is a link is refused', async () => {
    const trap = trapIn(place());
    const { outcome } = await place().daemon.run(sh('true'), tierC(place(), { readOnlyPaths: [trap.link] }));
    expect(outcome).toMatchObject({ kind: 'refused', code: 'sandbox.invalid_profile' });
    trap.remove();
  });

  test('a workspace that is swapped while commands are started in it never shows the other one', async () => {
    const trap = trapIn(place());
    const swapping = place().daemon.start(python(SWAP, trap.directory, trap.link), tierC(place()));
    await swapping.running;
    const kinds = new Set<string>();
    for (let run = 0; run < 40; run += 1) {
      const { outcome, stdout } = await place().daemon.run(sh('cat secret'), tierC({ workspace: trap.directory }));
      kinds.add(outcome.kind);
      expect(stdout).not.toContain(trap.secret);
    }
    swapping.cancel();
    await swapping.ended;
    trap.remove();
    // Not because it never came to it: some were started in the right one, some were refused.
    expect(kinds.size).toBeGreaterThan(1);
  });
});
