// T-15: persistence. Nothing protected is written: what is changed lies behind it, some links, includes or renames further.
import { describe, expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, sh, tierC } from './sandboxed.ts';

/** A program that tells that it was run. */
const TRAP = 'printf \'#!/bin/sh\\ntouch "$TRAPS/sprung"\\nexit 1\\n\' > trap.sh; chmod 755 trap.sh; T=$PWD/trap.sh';
const GOOD = (path: string) => `printf '#!/bin/sh\\nexit 0\\n' > ${path}; chmod +x ${path}`;
const INIT = 'git init -q -b main .; git config user.name a; git config user.email b';

interface Way {
  readonly name: string;
  /** What the operator has set up. */
  readonly before: string;
  readonly attack: string;
  readonly found: readonly string[];
  /** Where the operator works afterwards. */
  readonly where?: string;
}

const WAYS: readonly Way[] = [
  {
    name: 'an include of an include',
    before: `${INIT}; mkdir cfg; printf '[include]\\n\\tpath = more\\n' > cfg/one; printf '[user]\\n\\tname = a\\n' > cfg/more; git config include.path ../cfg/one`,
    attack: "printf '[core]\\n\\tfsmonitor = %s\\n' $T > cfg/more",
    found: ['changed cfg/more'],
  },
  {
    name: 'a conditional include behind eight others, of which nothing is there yet',
    before: `${INIT}; mkdir cfg; git config include.path ../cfg/1; for i in 1 2 3 4 5 6 7 8; do printf '[includeIf "gitdir:/**"]\\n\\tpath = ../cfg/%s\\n' $((i + 1)) > cfg/$i; done`,
    attack: "printf '[core]\\n\\tfsmonitor = %s\\n' $T > cfg/9",
    found: ['created cfg/9'],
  },
  {
    name: 'core.hooksPath in an included file',
    before: `${INIT}; mkdir -p tools/hooks; ${GOOD('tools/hooks/pre-commit')}; printf '[core]\\n\\thooksPath = tools/hooks\\n' > shared; git config include.path ../shared`,
    attack: 'cp trap.sh tools/hooks/pre-commit',
    found: ['changed tools/hooks/pre-commit'],
  },
  {
    name: 'core.hooksPath in an included file that is protected by its name',
    before: `${INIT}; mkdir -p tools/hooks; printf '[core]\\n\\thooksPath = tools/hooks\\n' > .gitconfig; git config include.path ../.gitconfig`,
    attack: 'cp trap.sh tools/hooks/pre-commit',
    found: ['created tools/hooks/pre-commit'],
  },
  {
    name: 'a link in the middle of the way to hooks',
    before: `${INIT}; mkdir -p real/hooks; ${GOOD('real/hooks/pre-commit')}; ln -s real tools; git config core.hooksPath tools/hooks`,
    attack: 'mkdir -p evil/hooks; cp trap.sh evil/hooks/pre-commit; rm tools; ln -s evil tools',
    found: ['replaced tools'],
  },
  {
    name: 'hooks behind a linked directory',
    before: `${INIT}; mkdir -p real/hooks; ${GOOD('real/hooks/pre-commit')}; ln -s real tools; git config core.hooksPath tools/hooks`,
    attack: 'cp trap.sh real/hooks/pre-commit; cp trap.sh real/hooks/post-index-change',
    found: ['created real/hooks/post-index-change', 'changed real/hooks/pre-commit'],
  },
  {
    name: 'a link exchanged for a directory',
    before: `${INIT}; mkdir -p real/hooks; ${GOOD('real/hooks/pre-commit')}; ln -s real tools; git config core.hooksPath tools/hooks`,
    attack: 'rm tools; mkdir -p tools/hooks; cp trap.sh tools/hooks/pre-commit',
    found: ['replaced tools'],
  },
  {
    name: 'a repository that is renamed with its hooks',
    before: `git init -q -b main .; git init -q -b main sub; cd sub; ${INIT}; mkdir -p tools/hooks; ${GOOD('tools/hooks/pre-commit')}; git config core.hooksPath tools/hooks`,
    attack: 'mv sub s2; cp trap.sh s2/tools/hooks/pre-commit',
    found: ['created s2/tools/hooks/pre-commit'],
    where: 's2',
  },
  {
    name: 'a repository that is renamed to where its include is the tool’s',
    before: `git init -q -b main .; git init -q -b main sub; cd sub; ${INIT}; git config include.path ../../shared`,
    attack: 'mkdir deep; mv sub deep/sub; printf "[core]\\n\\tfsmonitor = %s\\n" $T > deep/shared',
    found: ['created deep/shared'],
    where: 'deep/sub',
  },
];

const SPRING = `mkdir -p traps; export TRAPS=$PWD/traps; cd $WHERE
(git status; git commit --allow-empty -qm later; git commit --allow-empty -qm again) >/dev/null 2>&1 || true; ls $TRAPS`;

describeBothWays((place) => {
  test.each(WAYS)('$name: put back, and not sprung', async ({ before, attack, found, where = '.' }) => {
    const { workspace, operator } = makeWorkspace(place(), before);
    const ended = await place().daemon.run(sh(`${TRAP}; ${attack}; true`), tierC({ workspace }));
    expect(changesOf(ended, workspace)).toEqual(found);
    expect(operator(SPRING.replace('$WHERE', where))).toBe('');
  });

  test.each(WAYS)('$name: sprung, were nothing protected', async ({ before, attack, where = '.' }) => {
    const { workspace, operator } = makeWorkspace(place(), before);
    const profile = tierC({ workspace }, { protection: { lifted: [workspace] } });
    await place().daemon.run(sh(`${TRAP}; ${attack}; true`), profile);
    expect(operator(SPRING.replace('$WHERE', where))).toBe('sprung\n');
  });

  test('a link to a link: the one in the middle cannot be bent', async () => {
    const { workspace, operator } = makeWorkspace(
      place(),
      'mkdir docs; echo good > docs/ai.md; ln -s docs/ai.md ai.md; ln -s ai.md CLAUDE.md',
    );
    const attack = 'echo evil > evil.md; rm ai.md; ln -s evil.md ai.md';
    const ended = await place().daemon.run(sh(attack), tierC({ workspace }));
    expect(changesOf(ended, workspace)).toEqual(['replaced ai.md']);
    expect(operator('cat CLAUDE.md')).toBe('good\n');
  });

  test('the same link in another directory is one to other bytes, and these are no copy', async () => {
    const { workspace, operator } = makeWorkspace(place(), 'echo good > ai.md; ln -s ai.md CLAUDE.md');
    const attack = 'mkdir sub; echo evil > sub/ai.md; ln -s ai.md sub/CLAUDE.md';
    const ended = await place().daemon.run(sh(attack), tierC({ workspace }));
    expect(changesOf(ended, workspace)).toEqual(['created sub/ai.md']);
    expect(operator('cat sub/CLAUDE.md 2>&1 || true')).not.toContain('evil');
  });

  describe('a directory is exchanged for a link into installed packages', () => {
    test.each([
      ['and kept beside', 'packages/old'],
      ['and put among them', 'node_modules/old'],
    ])('%s: what was in it is there again', async (_, away) => {
      const { workspace, operator } = makeWorkspace(
        place(),
        'mkdir -p packages/one; echo good > packages/one/AGENTS.md',
      );
      const attack = `mkdir -p node_modules/evil; echo evil > node_modules/evil/AGENTS.md; mv packages/one ${away}; ln -s ../node_modules/evil packages/one`;
      const ended = await place().daemon.run(sh(attack), tierC({ workspace }));
      expect(changesOf(ended, workspace)).toEqual(['removed packages/one/AGENTS.md']);
      expect(operator('cat packages/one/AGENTS.md')).toBe('good\n');
    });
  });

  describe('a directory cannot be listed', () => {
    test.each([
      ['a new one of agents', 'mkdir .claude; echo evil > .claude/settings.json; chmod 0311 .claude'],
      ['one above it', 'mkdir -p x/.claude; echo evil > x/.claude/settings.json; chmod 0311 x'],
      ['nor entered', 'mkdir -p x/.claude; echo evil > x/.claude/settings.json; chmod 0600 x/.claude; chmod 0 x'],
      ['one of hooks that was there', 'echo evil > .husky/pre-commit; chmod 0311 .husky'],
      ['nor written', 'mkdir -p x/.claude; echo evil > x/.claude/settings.json; chmod 0555 x/.claude x'],
      ['nor what is in it', 'mkdir -p .claude/a; echo evil > .claude/a/settings.json; chmod 0555 .claude/a .claude'],
      [
        'and has too much in it',
        'mkdir -p .claude/a; cd .claude/a; seq 4200 | xargs touch; touch settings.json; chmod 0555 . ..',
      ],
      ['hooks of a new repository', `git init -q n; cp /bin/sh n/.git/hooks/pre-commit; chmod 0311 n/.git/hooks`],
    ])('%s: nothing is left in it', async (_, attack) => {
      const { workspace, operator } = makeWorkspace(place(), `${INIT}; mkdir .husky; echo mine > .husky/_`);
      const ended = await place().daemon.run(sh(attack), tierC({ workspace }));
      const changes = changesOf(ended, workspace);
      expect(changes.length).toBeGreaterThan(0);
      expect(changes.filter((each) => each.includes('not restored'))).toEqual([]);
      expect(operator('find . -name settings.json -o -name pre-commit; cat .husky/_; stat -c %a .husky')).toBe(
        'mine\n755\n',
      );
    });
  });
});
