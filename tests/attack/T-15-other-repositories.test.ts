// T-15: programs are named in the configuration of a Mercurial or Jujutsu repository, which a prompt or an editor asks unasked.
import { expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, sh, tierB, tierC } from './sandboxed.ts';

const REPOSITORIES = `
mkdir -p .hg/store .jj/repo/store packages/one
echo '[paths]' > .hg/hgrc && echo 'ui.paginate = "never"' > .jj/repo/config.toml
`;
const STATE = 'cat .hg/hgrc .jj/repo/config.toml; ls -A .hg .jj .jj/repo packages/one';

const CHANGES = `
(printf '[hooks]\\nupdate = ./evil\\n' >> .hg/hgrc; echo evil > x && mv -f x .jj/repo/config.toml; ln -f .hg/hgrc y; rm -f y) 2>/dev/null
true`;
const CREATIONS = `
mkdir -p packages/one/.hg packages/one/.jj/repo
echo evil > packages/one/.hg/hgrc; echo evil > packages/one/.jj/repo/config.toml
echo evil > .hg/hgrc-not-shared; echo /elsewhere > .hg/sharedpath; echo evil > .jj/workspace-config.toml
rm -rf packages/one/.hg/x; true`;
/** What such a program writes all the time. */
const WORK = 'echo 1 > .hg/store/00changelog.i; mv .hg/store/00changelog.i .hg/branch; echo 1 > .jj/repo/store/type';

describeBothWays((place) => {
  test.each([
    ['C', tierC],
    ['B', tierB],
  ] as const)('what is there stays, and what is new is taken away, in Tier %s', async (_, tier) => {
    const { workspace, operator } = makeWorkspace(place(), REPOSITORIES);
    const before = operator(STATE);
    const changed = await place().daemon.run(sh(CHANGES), tier({ workspace }));
    expect([changed.kind, operator(STATE)]).toEqual(['completed', before]);
    const made = await place().daemon.run(sh(CREATIONS), tier({ workspace }));
    expect(changesOf(made, workspace).toSorted()).toEqual([
      'created .hg/hgrc-not-shared',
      'created .hg/sharedpath',
      'created .jj/workspace-config.toml',
      'created packages/one/.hg/hgrc',
      'created packages/one/.jj/repo/config.toml',
    ]);
    const worked = await place().daemon.run(sh(WORK), tier({ workspace }));
    expect([worked.detail, changesOf(worked, workspace)]).toEqual(['0', []]);
    expect(operator('cat .hg/branch .jj/repo/store/type')).toBe('1\n1\n');
  });
});
