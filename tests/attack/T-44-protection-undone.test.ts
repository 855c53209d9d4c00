// T-44: what protects a path is undone: a directory above it renamed, its mount point replaced from elsewhere, a
// repository made after the start, a second sandbox that takes the attempt for how things were.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { changesOf, makeWorkspace, protectedIn } from './protected-workspace.ts';
import { startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, type Place, python, SWAP, sh, tierC, until } from './sandboxed.ts';

const HOOK = "printf '#!/bin/sh\\ntouch ran\\n'";
/** The same, and in whichever of the two is the directory there is always something to be mounted on. */
const PLANT_AND_SWAP = SWAP.replace(
  'while True:',
  `while True:
  for each in sys.argv[1:3]:
    try: open(each + '/.envrc', 'a').close()
    except OSError: pass`,
).replace('0.0005', '0.00001');
/** Waits for the test to make a file. */
const waitFor = (name: string) => `while [ ! -e ${name} ]; do sleep 0.02; done`;
const markPoints = (place: Place) => {
  try {
    return readdirSync(join(place.palyraHome, 'kept/mount-points'));
  } catch {
    return [];
  }
};

describeBothWays((place) => {
  test('a directory above a protected path keeps its name, so no other tree takes its place', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const before = operator('find . -path ./.git/objects -prune -o -print | sort');
    const swaps = [
      'mv packages old && mkdir -p packages/one && echo evil > packages/one/.envrc',
      'mv packages/one old && mkdir packages/one && echo evil > packages/one/.envrc',
      `mv .git old && cp -r old .git && ${HOOK} > .git/hooks/pre-commit`,
      'mv .github old && mkdir -p .github/workflows && echo evil > .github/workflows/ci.yml',
      'rm -rf packages .github .vscode',
    ];
    const look = 'cat packages/one/.envrc .github/workflows/ci.yml .vscode/tasks.json; ls .git/hooks | grep -v sample';
    const attempts = swaps.map((each) => `(${each}) 2>/dev/null && echo undone`).join('; ');
    const ended = await place().daemon.run(sh(`${attempts}; ${look}`), tierC({ workspace }));
    expect(ended.stdout).toBe('export A=1\non: push\n{}\ncommit-msg\n');
    // What was not protected is gone, as it may be, and `mv` to another mount has copied what it could not move.
    operator('git checkout -q -- . && rm -rf old');
    expect(operator('find . -path ./.git/objects -prune -o -print | sort')).toBe(before);
  });

  test('hooks that are not there cannot be made, and the place that is held for them is gone afterwards', async () => {
    const { workspace, operator } = makeWorkspace(place());
    operator('rm -r .git/hooks');
    const ended = await place().daemon.run(
      sh(
        `mkdir -p .git/hooks; ${HOOK} > .git/hooks/pre-commit; ls -A .git/hooks | wc -l; rmdir .git/hooks; mv .git/hooks x; ls -A .git/hooks | wc -l`,
      ),
      tierC({ workspace }),
    );
    expect({ out: ended.stdout, changes: changesOf(ended, workspace) }).toEqual({ out: '0\n0\n', changes: [] });
    expect(operator('ls -d .git/hooks 2>/dev/null || true')).toBe('');
    expect(markPoints(place())).toEqual([]);
  });

  test('that place is held until the last of two commands is over', async () => {
    const { workspace, operator } = makeWorkspace(place());
    operator('rm -r .git/hooks');
    const first = place().daemon.start(sh(`echo ready; ${waitFor('over')}`), tierC({ workspace }));
    await until('it waits', () => first.text().includes('ready'));
    const plant = `mkdir -p .git/hooks; ${HOOK} > .git/hooks/pre-commit; ls -A .git/hooks | wc -l`;
    const second = place().daemon.start(sh(`echo ready; ${waitFor('all-over')}; ${plant}`), tierC({ workspace }));
    await until('the second one waits', () => second.text().includes('ready'));
    operator('touch over');
    await first.ended;
    operator('touch all-over');
    const ended = await second.ended;
    expect({ out: ended.stdout, changes: changesOf(ended, workspace) }).toEqual({ out: 'ready\n0\n', changes: [] });
    expect(operator('ls -d .git/hooks 2>/dev/null || true')).toBe('');
  });

  test('a daemon that is killed leaves a record of that place, and the next one removes it', async () => {
    const { workspace, operator } = makeWorkspace(place());
    operator('rm -r .git/hooks');
    const killed = await startDaemon(place());
    const started = killed.start(sh('sleep 30'), tierC({ workspace }));
    await started.running;
    expect(operator('ls -d .git/hooks')).toBe('.git/hooks\n');
    await killed.kill();
    expect(markPoints(place())).toHaveLength(1);
    // One that still runs is not the next one: it has its own.
    await place().daemon.run(sh('true'), tierC({ workspace: makeWorkspace(place(), 'true').workspace }));
    expect(markPoints(place())).toHaveLength(1);
    const next = await startDaemon(place());
    await next.close();
    expect({ left: operator('ls -d .git/hooks 2>/dev/null || true'), records: markPoints(place()) }).toEqual({
      left: '',
      records: [],
    });
  });

  test('a mount that somebody outside has detached still counts afterwards', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const script = `echo ready; ${waitFor('replaced')}; echo evil > CLAUDE.md && echo written`;
    const started = place().daemon.start(sh(script), tierC({ workspace }));
    await until('it waits', () => started.text().includes('ready'));
    operator('echo "the operator says" > new && mv new CLAUDE.md && touch replaced');
    const ended = await started.ended;
    // Or this is no attack.
    expect(ended.stdout).toBe('ready\nwritten\n');
    expect(changesOf(ended, workspace)).toEqual(['changed CLAUDE.md']);
    expect(operator('cat CLAUDE.md')).toBe('the operator says\n');
  });

  test('a second sandbox does not bring back what the first one planted', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const plant = `echo evil > AGENTS.md; git init -q new && ${HOOK} > new/.git/hooks/pre-commit; echo ready; ${waitFor('over')}`;
    const first = place().daemon.start(sh(plant), tierC({ workspace }));
    await until('it has planted', () => first.text().includes('ready'));
    const second = place().daemon.start(sh(`echo ready; ${waitFor('all-over')}`), tierC({ workspace }));
    await until('the second one runs', () => second.text().includes('ready'));
    operator('touch over');
    expect(changesOf(await first.ended, workspace)).toEqual(['created AGENTS.md', 'created new/.git/hooks/pre-commit']);
    operator('touch all-over');
    expect(changesOf(await second.ended, workspace)).toEqual([]);
    expect(operator('ls AGENTS.md new/.git/hooks/pre-commit 2>/dev/null || true')).toBe('');
  });

  test('what one command may write by the operator’s leave, another one does not undo: it waits for it', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const profile = tierC({ workspace }, { protection: { lifted: [join(workspace, 'AGENTS.md')] } });
    const script = `echo half > AGENTS.md; echo ready; ${waitFor('over')}; echo asked > AGENTS.md`;
    const allowed = place().daemon.start(sh(script), profile);
    await until('it waits', () => allowed.text().includes('ready'));
    const other = place().daemon.start(sh('cat AGENTS.md; echo evil > AGENTS.md'), tierC({ workspace }));
    operator('touch over');
    expect(changesOf(await allowed.ended, workspace)).toEqual([]);
    const ended = await other.ended;
    // Mounted for it: it was there when it began.
    expect({ saw: ended.stdout, changes: changesOf(ended, workspace) }).toEqual({ saw: 'asked\n', changes: [] });
    expect(operator('cat AGENTS.md')).toBe('asked\n');
  });

  test('nor does it pass off what another one wrote: it is refused while that runs', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const plant = sh(`echo evil > AGENTS.md; echo ready; ${waitFor('over')}`);
    const other = place().daemon.start(plant, tierC({ workspace }));
    await until('it has planted', () => other.text().includes('ready'));
    const profile = tierC({ workspace }, { protection: { lifted: [join(workspace, 'AGENTS.md')] } });
    const refused = await place().daemon.run(sh('true'), profile);
    operator('touch over');
    expect([refused.detail, changesOf(await other.ended, workspace)]).toEqual([
      'sandbox.workspace_busy',
      ['created AGENTS.md'],
    ]);
    expect(operator('ls AGENTS.md 2>/dev/null || true')).toBe('');
    const later = await place().daemon.run(sh('echo asked > AGENTS.md'), profile);
    expect({ kind: later.kind, now: operator('cat AGENTS.md') }).toEqual({ kind: 'completed', now: 'asked\n' });
  });

  test('one that waits for another can be cancelled', async () => {
    const { workspace } = makeWorkspace(place());
    const profile = tierC({ workspace }, { protection: { lifted: [join(workspace, 'AGENTS.md')] } });
    const allowed = place().daemon.start(sh('echo ready; sleep 30'), profile);
    await until('it runs', () => allowed.text().includes('ready'));
    const other = place().daemon.start(sh('true'), tierC({ workspace }));
    other.cancel();
    expect((await other.ended).kind).toBe('cancelled');
    allowed.cancel();
    expect((await allowed.ended).kind).toBe('cancelled');
  });

  describe('a repository that is made during the run', () => {
    test.each([
      ['in the open', 'new'],
      ['among packages', 'node_modules/a/b'],
      ['among objects of git', '.git/objects/ff/x'],
      ['in another one', 'new/sub/.git/modules/x'],
    ])('%s: its hook and its programs are taken out', async (_, path) => {
      const { workspace, operator } = makeWorkspace(place());
      const script = `mkdir -p ${path}; cd ${path}; git init -q .; ${HOOK} > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
        git config core.fsmonitor ./evil; git config user.name Dev`;
      const ended = await place().daemon.run(sh(script), tierC({ workspace }));
      expect(changesOf(ended, workspace)).toEqual([
        `created ${path}/.git/config`,
        `created ${path}/.git/hooks/pre-commit`,
      ]);
      expect(
        operator(`cd ${path}; git config --local --list | grep -c 'user.name\\|fsmonitor'; git config user.name`),
      ).toBe('1\nDev\n');
    });

    test.each([
      ['a bare one', 'git init -q --bare hub.git; git -C hub.git config core.fsmonitor ./evil', 'hub.git/config'],
      [
        'one of another name',
        'git init -q x; mv x/.git x/data; echo "gitdir: data" > x/.git; git -C x config core.fsmonitor ./e',
        'x/data/config',
      ],
      [
        'one that is put together from two directories',
        'git init -q x; mkdir y; mv x/.git/objects x/.git/refs x/.git/config y; echo ../../y > x/.git/commondir; git -C x config core.fsmonitor ./e',
        'y/config',
      ],
    ])('%s is one', async (_, script, config) => {
      const { workspace, operator } = makeWorkspace(place());
      const ended = await place().daemon.run(sh(script), tierC({ workspace }));
      expect(changesOf(ended, workspace)).toEqual([`created ${config}`]);
      expect(operator(`grep -c fsmonitor ${config} || true`)).toBe('0\n');
    });

    test('one that lies where nobody looks is not led to', async () => {
      const { workspace, operator } = makeWorkspace(place());
      const ended = await place().daemon.run(
        sh('mkdir x y; echo "gitdir: /var/tmp/evil" > x/.git; ln -s /var/tmp/evil y/.git'),
        tierC({ workspace }),
      );
      expect(changesOf(ended, workspace)).toEqual(['created x/.git', 'created y/.git']);
      expect(operator('ls -A x y')).toBe('x:\n\ny:\n');
    });
  });

  test('a file that was harmless where it lay is a hook where its directory goes', async () => {
    const { workspace } = makeWorkspace(place());
    const run = (script: string) => place().daemon.run(sh(script), tierC({ workspace }));
    const prepared = await run(
      `mkdir -p stuff/hooks node_modules/x; cp .git/HEAD stuff; ${HOOK} > stuff/hooks/pre-commit`,
    );
    expect(changesOf(prepared, workspace)).toEqual([]);
    // By the next one it is clearly older than the run.
    await run('true');
    await run('true');
    const ended = await run('mv stuff node_modules/x/.git; cd node_modules/x/.git; mkdir objects refs');
    expect(changesOf(ended, workspace)).toEqual(['created node_modules/x/.git/hooks/pre-commit']);
  });

  test('while another sandbox exchanges directories for links, nothing outside is touched', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const outside = makeWorkspace(place(), 'echo outside > CLAUDE.md; echo outside > AGENTS.md');
    operator(`mkdir dir; ln -s ${outside.workspace} link`);
    const swapping = place().daemon.start(
      python(PLANT_AND_SWAP, join(workspace, 'dir'), join(workspace, 'link')),
      tierC({ workspace }),
    );
    await swapping.running;
    const plant =
      'for each in dir link; do echo evil > $each/CLAUDE.md; echo evil > $each/.envrc; rm -f $each/AGENTS.md; done 2>/dev/null; true';
    for (let round = 0; round < 60; round += 1) await place().daemon.run(sh(plant), tierC({ workspace }));
    swapping.cancel();
    const ended = await swapping.ended;
    expect(protectedIn(ended.outcome).every(({ path }) => path.startsWith(`${workspace}/`))).toBe(true);
    expect(outside.operator('cat CLAUDE.md AGENTS.md; ls -A')).toBe('outside\noutside\nAGENTS.md\nCLAUDE.md\n');
    expect(operator('ls -A dir/ 2>/dev/null; true')).not.toContain('evil');
  });

  test('while another sandbox exchanges a directory of hooks for a link, nobody sees what that leads to', async () => {
    const { workspace, operator } = makeWorkspace(place());
    const outside = makeWorkspace(place(), 'echo secret > tasks.json');
    operator(`mkdir .husky; echo {} > .husky/tasks.json; ln -s ${outside.workspace} link`);
    const paths = ['.husky', 'link'].map((name) => join(workspace, name));
    const swapping = place().daemon.start(python(SWAP, ...paths), tierC({ workspace }));
    await swapping.running;
    const seen = new Set<string>();
    for (let round = 0; round < 40; round += 1) {
      const ended = await place().daemon.run(sh('cat .husky/tasks.json 2>/dev/null; true'), tierC({ workspace }));
      seen.add(`${ended.kind} ${ended.kind === 'completed' ? ended.stdout.trim() : ended.detail}`);
    }
    swapping.cancel();
    await swapping.ended;
    expect([...seen].filter((each) => each.includes('secret'))).toEqual([]);
    expect(seen).toContain('completed {}');
  });

  test('from a worktree the main repository’s hooks and configuration are held as well', async () => {
    const main = makeWorkspace(place());
    const { operator, workspace } = makeWorkspace(
      place(),
      `git -C ${main.workspace} worktree add -q --force "$PWD" -b topic`,
    );
    const git = `${main.workspace}/.git`;
    const ended = await place().daemon.run(
      sh(
        `${HOOK} > ${git}/hooks/pre-commit; echo evil >> ${git}/hooks/commit-msg; git config core.fsmonitor ./evil; git config user.name Me; git commit -q --allow-empty -m x; git log --oneline | wc -l`,
      ),
      tierC({ workspace }),
    );
    expect({
      out: ended.stdout,
      changes: protectedIn(ended.outcome).map(({ path, what }) => `${what} ${path}`),
    }).toEqual({
      out: '2\n',
      changes: [`changed ${git}/config`],
    });
    expect(operator(`ls ${git}/hooks | grep -v sample; git config core.fsmonitor || true`)).toBe('commit-msg\n');
  });
});
