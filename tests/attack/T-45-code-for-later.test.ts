// T-45: code for later. The tool does nothing itself: it leaves something that the operator's git will run outside.
import { expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, sh, tierC } from './sandboxed.ts';

/** A program that tells that it was run. */
const TRAP = 'printf \'#!/bin/sh\\ntouch "$TRAPS/sprung"\\n\' > trap.sh; chmod 755 trap.sh; T=$PWD/trap.sh';

/** What an operator does without a thought. */
const USE =
  'git status; git add -A; git commit -qm later; git log -1; git diff HEAD~1; git checkout -q -b other; git fetch . HEAD; git -C sub status';

const TRAPS: readonly (readonly [name: string, plant: string])[] = [
  [
    'a hook of the repository',
    'for h in pre-commit post-checkout post-index-change; do cp trap.sh .git/hooks/$h; done',
  ],
  [
    'a directory of hooks',
    'mkdir evil; cp trap.sh evil/post-index-change; cp trap.sh evil/pre-commit; git config core.hooksPath evil',
  ],
  ['a file system monitor', 'git config core.fsmonitor $T'],
  ['a filter', "echo '* filter=x' > .gitattributes; git config filter.x.clean $T"],
  ['a textconv', "echo '* diff=x' > .gitattributes; git config diff.x.textconv $T"],
  ['a difference program', 'git config diff.external $T'],
  ['a pager', 'git config core.pager $T; git config pager.log true'],
  ['an included file', 'printf "[core]\\n\\tfsmonitor = %s\\n" $T > inc; git config include.path ../inc'],
  ['another spelling', 'printf "[CoRe]\\n\\tFsMonitor=\\"%s\\"\\n" $T >> .git/config'],
  [
    'a line that goes on',
    'printf "[core] fsmoni\\\\\\n" >> .git/config; printf "[core]fsmonitor=%s\\\\\\n\\n" $T >> .git/config',
  ],
  [
    'a repository among hooks',
    'git init -q --bare .git/hooks/x.sample; git -C .git/hooks/x.sample config core.fsmonitor $T; git init -q --bare sub.git/hooks/x.sample; git init -q --bare sub.git; git -C sub.git/hooks/x.sample config core.fsmonitor $T; git -C sub.git/hooks/x.sample config core.bare false; mkdir sub; echo "gitdir: ../sub.git/hooks/x.sample" > sub/.git',
  ],
];

describeBothWays((place) => {
  test.each(TRAPS)('%s is not sprung', async (_, plant) => {
    const { workspace, operator } = makeWorkspace(place());
    await place().daemon.run(sh(`${TRAP}; ${plant}; true`), tierC({ workspace }));
    expect(spring(operator)).toBe('');
  });

  // Or the traps above are none.
  test.each(TRAPS.filter(([name]) => name !== 'a pager' && name !== 'a line that goes on'))(
    '%s would be, without protection',
    async (_, plant) => {
      const { workspace, operator } = makeWorkspace(place());
      const ended = await place().daemon.run(
        sh(`${TRAP}; ${plant}; true`),
        tierC({ workspace }, { protection: { lifted: [workspace] } }),
      );
      expect(changesOf(ended, workspace)).toEqual([]);
      expect(spring(operator)).toBe('sprung\n');
    },
  );

  test('what the operator runs by hand is not protected, and nothing says so', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const ended = await place().daemon.run(
      sh(`${TRAP}; printf 'all:\\n\\t./trap.sh\\n' > Makefile`),
      tierC({ workspace }),
    );
    expect(changesOf(ended, workspace)).toEqual([]);
    expect(operator('mkdir traps; TRAPS=$PWD/traps make -s all; ls traps')).toBe('sprung\n');
  });
});

function spring(operator: (script: string) => string): string {
  return operator(
    `mkdir traps; export TRAPS=$PWD/traps GIT_PAGER_IN_USE=1; (${USE}) > /dev/null 2>&1 || true; ls traps`,
  );
}
