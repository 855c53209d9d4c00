// T-15: persistence. What may be written is itself a protected path, or named like what holds one; steps of a rebase that
// are programs.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changesOf, makeWorkspace, protectedIn } from './protected-workspace.ts';
import { describeBothWays, sh, tierC } from './sandboxed.ts';

const REBASE = `mkdir -p .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD > onto; cp onto orig-head
echo refs/heads/main > head-name; echo 1 > msgnum; echo 1 > end; : > interactive; : > done`;

describeBothWays((place) => {
  describe('what may be written', () => {
    test.each(['.vscode', '.github/workflows', '.config/fish', '.claude/commands'])(
      'is not %s, as a workspace or beside one',
      async (name) => {
        const { workspace } = makeWorkspace(place(), 'true');
        const other = makeWorkspace(place(), `mkdir -p ${name}`);
        const path = join(other.workspace, name);
        const asRoot = await place().daemon.run(sh('echo evil > x'), tierC({ workspace: path }));
        const beside = await place().daemon.run(sh('true'), tierC({ workspace }, { writablePaths: [path] }));
        expect([asRoot.detail, beside.detail]).toEqual(['sandbox.protected_root', 'sandbox.protected_root']);
        const lifted = tierC({ workspace }, { writablePaths: [path], protection: { lifted: [path] } });
        expect((await place().daemon.run(sh(`echo asked > ${path}/x`), lifted)).detail).toBe('0');
        expect(existsSync(join(path, 'x'))).toBe(true);
      },
    );

    test('is no protected file, either', async () => {
      const { workspace } = makeWorkspace(place(), 'true');
      const other = makeWorkspace(place());
      const profile = tierC({ workspace }, { writablePaths: [join(other.workspace, 'CLAUDE.md')] });
      expect((await place().daemon.run(sh('true'), profile)).detail).toBe('sandbox.protected_root');
    });

    test('is a worktree that an agent keeps among its own files', async () => {
      const { workspace, operator } = makeWorkspace(place());
      operator('git worktree add -q .claude/worktrees/topic');
      const inTree = tierC({ workspace: join(workspace, '.claude/worktrees/topic') });
      const ended = await place().daemon.run(sh('echo x > code.js; echo evil > AGENTS.md'), inTree);
      expect(protectedIn(ended.outcome)).toMatchObject([{ what: 'created', restored: true }]);
    });

    test.each([
      ['.github', 'workflows/ci.yml'],
      ['.config', 'fish/conf.d/a.fish'],
      ['.config', 'git/config'],
    ])('is looked through by its own name: %s holds %s', async (name, path) => {
      const { workspace } = makeWorkspace(place(), 'true');
      const other = makeWorkspace(place(), `mkdir -p ${name}`);
      const root = join(other.workspace, name);
      const script = `mkdir -p ${root}/$(dirname ${path}); echo evil > ${root}/${path}`;
      const ended = await place().daemon.run(sh(script), tierC({ workspace }, { writablePaths: [root] }));
      expect(changesOf(ended, root)).toEqual([`created ${path}`]);
      expect(existsSync(join(root, path))).toBe(false);
    });
  });

  describe('a rebase that has not ended', () => {
    const continued = 'mkdir traps; (TRAPS=$PWD/traps git rebase --continue) >/dev/null 2>&1 || true; ls traps';

    test.each(['exec touch $TRAPS/sprung', '  x touch $TRAPS/sprung', '\tx\ttouch $TRAPS/sprung'])(
      'has no program among its steps: %j',
      async (line) => {
        const { workspace, operator } = makeWorkspace(place());
        const script = `${REBASE}; printf '%s\\n' 'break' '${line}' > git-rebase-todo`;
        const ended = await place().daemon.run(sh(script), tierC({ workspace }));
        expect(changesOf(ended, workspace)).toEqual(['created .git/rebase-merge/git-rebase-todo']);
        expect(operator('cat .git/rebase-merge/git-rebase-todo')).toBe('break\n');
        expect(operator(`${continued}; git rebase --continue >/dev/null 2>&1; ls traps`)).toBe('');
      },
    );

    test('has one, were nothing protected', async () => {
      const { workspace, operator } = makeWorkspace(place());
      const profile = tierC({ workspace }, { protection: { lifted: [workspace] } });
      await place().daemon.run(sh(`${REBASE}; echo 'exec touch $TRAPS/sprung' > git-rebase-todo`), profile);
      expect(operator(continued)).toBe('sprung\n');
    });

    /** Git takes `git-merge-../../evil` for a path. */
    const STRATEGY = `mkdir git-merge-..; printf '#!/bin/sh\\ntouch "$TRAPS/sprung"\\n' > evil; chmod 755 evil
git checkout -q -b topic; echo topic > new; git add new; git commit -qm topic; git checkout -q main; git commit -q --allow-empty -m other`;
    const ofRebase = `${REBASE}; echo 'pick topic' > git-rebase-todo; echo ../../evil > strategy`;
    const ofPicks = `mkdir .git/sequencer; cd .git/sequencer; git rev-parse HEAD > head; cp head abort-safety
printf 'pick HEAD done\\npick topic topic\\n' > todo; printf '[options]\\n\\tstrategy = ../../evil\\n' > opts`;

    test.each([
      ['rebase', ofRebase, 'rebase-merge/strategy'],
      ['cherry-pick', ofPicks, 'sequencer/opts'],
    ])('merges by no program of the tool’s: %s', async (command, script, path) => {
      const spring = `mkdir traps; (TRAPS=$PWD/traps git ${command} --continue) >/dev/null 2>&1 || true; ls traps`;
      const { workspace, operator } = makeWorkspace(place());
      operator(STRATEGY);
      const ended = await place().daemon.run(sh(script), tierC({ workspace }));
      expect(changesOf(ended, workspace)).toEqual([`created .git/${path}`]);
      expect(operator(spring)).toBe('');
      const other = makeWorkspace(place());
      other.operator(STRATEGY);
      const lifted = tierC(other, { protection: { lifted: [other.workspace] } });
      await place().daemon.run(sh(script), lifted);
      expect(other.operator(spring)).toBe('sprung\n');
    });

    test('keeps those that the operator has put there, and its other steps', async () => {
      const { workspace, operator } = makeWorkspace(place());
      operator(`${REBASE}; printf 'break\\nexec make\\n' > git-rebase-todo`);
      const script = "printf 'drop 1\\nexec make\\nexec evil\\n' > .git/rebase-merge/git-rebase-todo";
      const ended = await place().daemon.run(sh(script), tierC({ workspace }));
      expect(changesOf(ended, workspace)).toEqual(['changed .git/rebase-merge/git-rebase-todo']);
      expect(operator('cat .git/rebase-merge/git-rebase-todo')).toBe('drop 1\nexec make\n');
    });
  });
});
