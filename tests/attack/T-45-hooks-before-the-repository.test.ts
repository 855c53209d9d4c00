// T-45: hooks and configuration are laid into a `.git` that is no repository yet; the operator's own `git init` keeps them, and
// the next `git` outside runs them.
import { expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, sh, tierB, tierC } from './sandboxed.ts';

const PLANT = `
mkdir -p .git/hooks later/.git/hooks
for at in . later; do
  printf '#!/bin/sh\\ntouch "$(git rev-parse --show-toplevel)/ran"\\n' > $at/.git/hooks/post-checkout
  chmod 755 $at/.git/hooks/post-checkout
  printf '[core]\\n\\tfsmonitor = touch ran\\n' > $at/.git/config
done`;
const WORK =
  'mkdir -p new && cd new && git init -q . && git config user.name a && ls .git/hooks | grep -v sample | wc -l';
const OPERATOR = `
for at in . later; do (cd $at && git init -q -b main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one &&
git checkout -q -b two && git status --short); done; ls ran later/ran 2>/dev/null || true`;

describeBothWays((place) => {
  test.each([
    ['C', tierC],
    ['B', tierB],
  ] as const)(
    'what is laid there is taken away, and a repository made in the box works, in Tier %s',
    async (_, tier) => {
      const { workspace, operator } = makeWorkspace(place(), 'true');
      const planted = await place().daemon.run(sh(PLANT), tier({ workspace }));
      expect(changesOf(planted, workspace).toSorted()).toEqual([
        'created .git/config',
        'created .git/hooks/post-checkout',
        'created later/.git/config',
        'created later/.git/hooks/post-checkout',
      ]);
      expect(operator(OPERATOR)).not.toContain('ran\n');
      const worked = await place().daemon.run(sh(WORK), tier({ workspace }));
      expect([worked.detail, worked.stdout.trim(), changesOf(worked, workspace)]).toEqual(['0', '0', []]);
    },
  );
});
