// T-15: persistence. A tool writes what the operator's git, shell, editor, agent or pipeline will run or believe later.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changesOf, makeWorkspace, protectedIn } from './protected-workspace.ts';
import { describeBothWays, IS_ROOT, type Place, sh, tierB, tierC } from './sandboxed.ts';

/** What is protected in the ordinary workspace, as text: the same before and after, whatever was tried. */
const STATE = `
for each in CLAUDE.md .vscode/tasks.json .github/workflows/ci.yml packages/one/.envrc packages/one/AGENTS.md .git/hooks/commit-msg
do stat -c '%n %F %a %h' $each && cat $each; done
ls .git/hooks | grep -v sample; ls -d .claude .mcp.json .envrc .bashrc 2>/dev/null || true
git config --local --list | grep -v '^extensions' | sort
`;

interface Attack {
  readonly name: string;
  readonly script: string;
  /** Where nothing is mounted, what is found and put back. */
  readonly found: readonly string[];
}

const CHANGES: readonly Attack[] = [
  { name: 'writes instructions', script: 'echo evil > CLAUDE.md', found: ['changed CLAUDE.md'] },
  { name: 'appends to a hook', script: 'echo evil >> .git/hooks/commit-msg', found: ['changed .git/hooks/commit-msg'] },
  { name: 'truncates', script: ': > .vscode/tasks.json', found: ['changed .vscode/tasks.json'] },
  {
    name: 'renames over',
    script: 'echo evil > x; mv -f x .vscode/tasks.json; echo evil > y; mv -f y CLAUDE.md',
    found: ['changed .vscode/tasks.json', 'changed CLAUDE.md'],
  },
  {
    name: 'exchanges a file for a link',
    script: 'echo evil > x; ln -sf x CLAUDE.md',
    found: ['replaced CLAUDE.md'],
  },
  {
    name: 'exchanges a directory for a link',
    script: 'mkdir evil; echo 1 > evil/tasks.json; rm -r .vscode && ln -s evil .vscode',
    found: ['replaced .vscode', 'removed .vscode/tasks.json'],
  },
  {
    name: 'writes through a hard link',
    script: 'ln CLAUDE.md x && echo evil > x',
    found: ['replaced CLAUDE.md'],
  },
  { name: 'makes a hard link for later', script: 'ln CLAUDE.md x', found: ['replaced CLAUDE.md'] },
  { name: 'removes', script: 'rm -f CLAUDE.md', found: ['removed CLAUDE.md'] },
  { name: 'removes a directory', script: 'rm -rf .github', found: ['removed .github/workflows'] },
  {
    name: 'makes a hook executable for all',
    script: 'chmod 777 .git/hooks/commit-msg',
    found: ['changed .git/hooks/commit-msg'],
  },
  {
    name: 'writes in a package',
    script: 'echo evil > packages/one/AGENTS.md; echo evil > packages/one/.envrc',
    found: ['changed packages/one/.envrc', 'changed packages/one/AGENTS.md'],
  },
];

/** Whatever the tier: there was nothing to mount. */
const CREATIONS: readonly Attack[] = [
  {
    name: 'agents’ settings',
    script: 'mkdir .claude; echo {} > .claude/settings.json',
    found: ['created .claude/settings.json'],
  },
  { name: 'an MCP server', script: 'echo {} > .mcp.json', found: ['created .mcp.json'] },
  { name: 'a link as .envrc', script: 'ln -s /etc/passwd .envrc', found: ['created .envrc'] },
  { name: 'a start file of a shell', script: 'mkdir home; echo evil > home/.bashrc', found: ['created home/.bashrc'] },
  {
    name: 'a pipeline in a package',
    script: 'mkdir packages/two; echo evil > packages/two/.gitlab-ci.yml',
    found: ['created packages/two/.gitlab-ci.yml'],
  },
  { name: 'a fifo that nobody reads', script: 'mkfifo .cursorrules', found: ['created .cursorrules'] },
  {
    name: 'a key that names hooks',
    script: 'mkdir evil; git config core.hooksPath evil',
    found: ['changed .git/config'],
  },
  { name: 'a key that names a program', script: 'git config core.fsmonitor ./evil', found: ['changed .git/config'] },
  { name: 'an alias', script: "git config alias.st '!./evil'", found: ['changed .git/config'] },
  { name: 'a filter', script: 'git config filter.x.clean ./evil', found: ['changed .git/config'] },
  { name: 'an included configuration', script: 'git config include.path ../evil', found: ['changed .git/config'] },
  {
    name: 'a configuration that is a link',
    script: 'cp .git/config c && ln -sf ../c .git/config',
    found: ['replaced .git/config'],
  },
  {
    name: 'a remote that starts a helper',
    script: "git remote add x 'ext::sh -c evil'",
    found: ['changed .git/config'],
  },
  {
    name: 'a worktree’s configuration',
    script:
      'git worktree add -q tree && git config extensions.worktreeConfig true && git -C tree config --worktree core.editor ./evil',
    found: ['created .git/worktrees/tree/config.worktree'],
  },
  {
    name: 'a name that is no text',
    script: 'd="$(printf \'x\\377\')"; mkdir "$d"; echo evil > "$d/.envrc"',
    found: ['created x\ufffd/.envrc'],
  },
  {
    name: 'more than is looked at',
    script: 'mkdir .claude; cd .claude; seq 4200 | xargs touch',
    found: ['created .claude'],
  },
];

describeBothWays((place) => {
  describe('Tier C', () => {
    test.each(CHANGES)('a tool that $name changes nothing', async ({ script }) => {
      const { workspace, operator } = makeWorkspace(place());
      const before = operator(STATE);
      const ended = await place().daemon.run(sh(`${script}; true`), tierC({ workspace }));
      expect({ kind: ended.kind, after: operator(STATE) }).toEqual({ kind: 'completed', after: before });
    });

    test('what is mounted cannot even be written for a moment', async () => {
      const { workspace } = makeWorkspace(place());
      const script = CHANGES.map((attack) => `(${attack.script}) 2>/dev/null`).join('; ');
      const watch =
        'cat CLAUDE.md .vscode/tasks.json .github/workflows/ci.yml packages/one/.envrc .git/hooks/commit-msg';
      const ended = await place().daemon.run(
        sh(`${watch} > /tmp/a; ${script}; ${watch} | cmp - /tmp/a`),
        tierC({ workspace }),
      );
      expect({ kind: ended.kind, detail: ended.detail, said: ended.stderr }).toEqual({
        kind: 'completed',
        detail: '0',
        said: '',
      });
    });

    test.each(CREATIONS)('$name: taken away and reported', async ({ script, found }) => {
      await expectPutBack(place(), { script, found });
    });

    test('nothing of a protected file is written where the profile makes another directory writable', async () => {
      const { workspace } = makeWorkspace(place(), 'true');
      const other = makeWorkspace(place());
      const profile = tierC({ workspace }, { writablePaths: [other.workspace] });
      const ended = await place().daemon.run(
        sh(`cd ${other.workspace}; echo e > CLAUDE.md; echo e > GEMINI.md; true`),
        profile,
      );
      expect(changesOf(ended, other.workspace)).toEqual(['created GEMINI.md']);
      expect(other.operator('cat CLAUDE.md; ls GEMINI.md 2>/dev/null || true')).toBe('the operator says\n');
    });
  });

  describe('Tier B, where nothing is mounted', () => {
    test.each([...CHANGES, ...CREATIONS])('$name: put back and reported', async ({ script, found }) => {
      // A workspace of root's is not writable for a Tier B tool.
      const owner = place().uid === 0 ? 71_234 : place().uid;
      await expectPutBack(place(), { script, found, owner });
    });
  });

  test('what was attempted is kept where only we can read it, and cannot be run', async () => {
    const { workspace } = makeWorkspace(place());
    const ended = await place().daemon.run(
      sh("printf '#!/bin/sh\\n' > .envrc; chmod 777 .envrc"),
      tierC({ workspace }),
    );
    const [change] = protectedIn(ended.outcome);
    const kept = change?.keptAs ?? '';
    expect(kept.startsWith(join(place().palyraHome, 'kept/'))).toBe(true);
    expect(readFileSync(kept, 'utf8')).toBe('#!/bin/sh\n');
    const { operator } = makeWorkspace(place(), 'true');
    expect(operator(`stat -c %a ${kept} ${join(kept, '..')}`)).toBe('600\n700\n');
  });

  test('where the operator lifted it, a path is written, and its neighbours are not', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const lifted = [join(workspace, 'CLAUDE.md'), join(workspace, '.vscode')];
    const profile = tierC({ workspace }, { protection: { lifted } });
    const ended = await place().daemon.run(
      sh('echo new > CLAUDE.md; echo 1 > .vscode/new; echo e > AGENTS.md'),
      profile,
    );
    expect(changesOf(ended, workspace)).toEqual(['created AGENTS.md']);
    expect(operator('cat CLAUDE.md .vscode/new; ls AGENTS.md 2>/dev/null || true')).toBe('new\n1\n');
  });

  test('a document that only differs in case is a document, as this file system sees it', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const ended = await place().daemon.run(
      sh('mkdir docs; echo a > docs/agents.md; mkdir .GIT; echo b > .GIT/config'),
      tierC({ workspace }),
    );
    expect(changesOf(ended, workspace)).toEqual([]);
    expect(operator('cat docs/agents.md .GIT/config')).toBe('a\nb\n');
  });

  test('daily work with git is none of it', async () => {
    const { workspace } = makeWorkspace(place());
    const script = `
      git config user.name Other && git remote add origin ../elsewhere && git checkout -q -b topic && git branch -q --set-upstream-to=main
      echo x > f && git add f && git commit -qm two && git worktree add -q tree main && git clone -q . copy && git init -q fresh
      git -C copy pull -q && git stash list && git gc -q && git worktree remove tree`;
    const ended = await place().daemon.run({ argv: ['sh', '-ec', script] }, tierC({ workspace }));
    expect({ detail: ended.detail, said: ended.stderr, changes: changesOf(ended, workspace) }).toEqual({
      detail: '0',
      said: '',
      // Of another commit's checkout nothing differs here: the copies hold what the workspace held.
      changes: [],
    });
  });
});

interface Expected {
  readonly script: string;
  readonly found: readonly string[];
  readonly owner?: number;
}

async function expectPutBack(place: Place, { script, found, owner }: Expected): Promise<void> {
  const { workspace, operator } = makeWorkspace(place, undefined, IS_ROOT ? owner : undefined);
  const before = operator(STATE);
  const profile = owner === undefined ? tierC({ workspace }) : tierB({ workspace });
  const ended = await place.daemon.run(sh(`${script}; true`), profile);
  expect({ kind: ended.kind, changes: changesOf(ended, workspace) }).toEqual({ kind: 'completed', changes: found });
  expect(operator(STATE)).toBe(before);
}
