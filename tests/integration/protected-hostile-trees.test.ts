import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createProtection,
  type ProtectedPlace,
  type Protection,
} from '../../packages/sandbox/src/protect/create-protection.ts';
import type { ProtectedChange } from '../../packages/sandbox/src/protect/put-back.ts';
import { SCAN_LIMITS, type ScanLimits } from '../../packages/sandbox/src/protect/scan-limits.ts';
import { resolvePath } from '../../packages/sandbox/src/survey/survey-files.ts';

/** Small enough that a test can exceed them. */
const LIMITS: ScanLimits = {
  ...SCAN_LIMITS,
  directories: 300,
  directoriesOfPlan: 20,
  entriesAtOnePath: 50,
  entries: 200,
};

let base: string;
let workspace: string;
let protection: Protection;
let place: ProtectedPlace;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-hostile-')));
  workspace = join(base, 'workspace');
  mkdirSync(workspace);
  protection = create(join(base, 'kept'));
  place = { roots: [workspace], gitDirectories: [join(workspace, '.git')], lifted: [], mounts: false };
});

afterEach(() => {
  rmSync(base, { recursive: true });
});

function create(keptDirectory: string, now: () => number = Date.now): Protection {
  const realPath = (path: string) =>
    resolvePath({ realPath: (each) => (existsSync(each) ? realpathSync(each) : undefined) }, path);
  return createProtection({ keptDirectory, realPath, home: '/nonexistent', now, limits: LIMITS });
}

const at = (path: string) => join(workspace, path);
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
/** Its size counts, and a hole has one, too. */
function writeLarge(path: string, bytes: number): void {
  write(path, '');
  truncateSync(at(path), bytes);
}
const git = (...args: readonly string[]) => execFileSync('git', ['-C', workspace, ...args], { stdio: 'pipe' });
const shell = (script: string) => execFileSync('bash', ['-c', script], { cwd: workspace, stdio: 'pipe' });

/** More than is read at one protected path. */
const fill = (directory: string) => shell(`mkdir -p ${directory}; cd ${directory}; seq 60 | xargs touch`);

async function run(act: () => void): Promise<readonly ProtectedChange[]> {
  const watch = await protection.begin(place);
  act();
  return watch.end();
}

async function told(act: () => void): Promise<readonly string[]> {
  const changes = await run(act);
  return changes.map(
    ({ path, what, restored }) => `${what} ${path.slice(workspace.length + 1)}${restored ? '' : ' not'}`,
  );
}

describe('a repository where nobody looks', () => {
  it.each(['x.sample', 'deep/x.sample', 'x'])('is found in hooks as %s', async (name) => {
    git('init', '-q', 'sub');
    const found = await told(() => {
      git('init', '-q', '--bare', `sub/.git/hooks/${name}`);
      git('-C', `sub/.git/hooks/${name}`, 'config', 'core.fsmonitor', './evil');
      write('sub2/.git', `gitdir: ../sub/.git/hooks/${name}\n`);
    });
    expect(found).toContain(`created sub/.git/hooks/${name}/config`);
    expect(existsSync(at(`sub/.git/hooks/${name}/config`))).toBe(false);
  });

  it('is none that a new pointer may lead to', async () => {
    const found = await told(() => write('sub/.git', 'gitdir: ../elsewhere\n'));
    expect(found).toEqual(['created sub/.git']);
  });

  it('has any name, also one that is no text', async () => {
    const inside = "cd $'x\\377'; touch .envrc; git init -q; git config core.fsmonitor ./evil";
    const found = await told(() => shell(`mkdir $'x\\377'; ${inside}`));
    expect(found).toEqual(['created x\ufffd/.envrc', 'created x\ufffd/.git/config']);
    expect(shell("ls -A $'x\\377'; git -C $'x\\377' config core.fsmonitor || true").toString()).toBe('.git\n');
    const again = await told(() => shell("echo '[core] fsmonitor = ./evil' >> $'x\\377/.git/config'"));
    expect(again).toEqual(['changed x\ufffd/.git/config']);
  });
});

describe('a name that is too long for us', () => {
  /** Down to where a path of the directory itself can still be asked for, and of what is in it not. */
  const DEEP = `
import os
room = 4088 - len(os.getcwd())
while room > 1:
  name = 'd' * min(200, room - 1)
  os.mkdir(name); os.chdir(name)
  room -= len(name) + 1
`;

  it.each([
    ['a file', "open('CLAUDE.md', 'w')", 'CLAUDE.md'],
    ['a directory', "os.mkdir('.vscode'); open('.vscode/tasks.json', 'w')", '.vscode'],
  ])('is told: %s', async (_, make, name) => {
    const changes = await run(() => execFileSync('python3', ['-c', `${DEEP}${make}`], { cwd: workspace }));
    expect(changes).toMatchObject([{ what: 'created', restored: false }]);
    expect(changes[0]?.path.endsWith(`d/${name}`)).toBe(true);
  });
});

describe('what is too much', () => {
  it('is said of every run, not only of the first', async () => {
    fill('.vscode');
    expect(await told(() => {})).toEqual(['changed .vscode not']);
    expect(await told(() => write('.vscode/tasks.json', 'evil'))).toEqual(['changed .vscode not']);
  });

  it('goes as a whole when it was not there', async () => {
    const changes = await run(() => fill('sub/.claude'));
    expect(changes).toMatchObject([{ path: at('sub/.claude'), what: 'created', restored: true }]);
    expect(existsSync(at('sub/.claude'))).toBe(false);
  });

  it('is not left under another name where it cannot be moved out', async () => {
    const elsewhere = mkdtempSync('/dev/shm/palyra-hostile-');
    try {
      protection = create(elsewhere);
      const deep = `.claude/${'d/'.repeat(50)}repo`;
      const changes = await run(() => {
        fill('.claude');
        git('init', '-q', deep);
        write(`${deep}/.git/hooks/pre-commit`, 'evil');
      });
      expect(changes).toMatchObject([{ path: at('.claude'), what: 'created', restored: true }]);
      expect(readdirSync(workspace)).toEqual([]);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('does not hide what was there', async () => {
    write('.vscode/tasks.json', 'mine');
    write('.vscode/deep/settings.json', 'mine');
    const found = await told(() => {
      fill('.vscode');
      write('.vscode/tasks.json', 'evil');
      rmSync(at('.vscode/deep'), { recursive: true });
    });
    expect(found).toEqual(['replaced .vscode']);
    expect(shell('cd .vscode; find . -type f | sort | xargs tail -n +1').toString()).toBe(
      '==> ./deep/settings.json <==\nmine\n==> ./tasks.json <==\nmine',
    );
  });

  it('in one place does not take from another, and nothing is left of either', async () => {
    write('z/.vscode/tasks.json', 'mine');
    const found = await told(() => {
      for (const name of 'abcdefgh') shell(`mkdir -p ${name}/.vscode; cd ${name}/.vscode; seq 40 | xargs touch`);
      write('z/.vscode/tasks.json', 'evil');
      write('y/CLAUDE.md', 'evil');
    });
    expect(found).toContain('changed z/.vscode/tasks.json');
    expect(readFileSync(at('z/.vscode/tasks.json'), 'utf8')).toBe('mine');
    expect(shell('find . -type f').toString()).toBe('./z/.vscode/tasks.json\n');
  });

  it('of directories leaves the workspace’s own paths checked', async () => {
    git('init', '-q');
    write('AGENTS.md', 'mine');
    write('deep/er/.git/objects/x', '');
    git('init', '-q', 'deep/er');
    git('-C', 'deep/er', 'config', 'credential.helper', 'mine');
    write('deep/er/CLAUDE.md', 'mine');
    const found = await told(() => {
      shell('mkdir -p wide; cd wide; seq 400 | xargs mkdir');
      write('AGENTS.md', 'evil');
      write('.git/hooks/pre-push', 'evil');
      git('config', 'core.pager', './evil');
      write('deep/er/CLAUDE.md', 'evil');
      rmSync(at('deep/er/.git/config'));
    });
    const kept = ['changed .git/config', 'created .git/hooks/pre-push', 'changed AGENTS.md'];
    expect(found).toEqual(['created  not', ...kept, 'removed deep/er/.git/config', 'changed deep/er/CLAUDE.md']);
    expect(readFileSync(at('deep/er/CLAUDE.md'), 'utf8')).toBe('mine');
  });
});

describe('more names than fit into one call of a function', () => {
  let memory: string;
  const flood = (path: string) =>
    // One call of the kernel for each; touch makes five.
    shell(
      `mkdir -p ${path}; cd ${path}; python3 -c 'import os
for each in range(150000): os.mknod(str(each))'; echo evil > pre-commit; echo evil > CLAUDE.md`,
    );

  beforeEach(() => {
    // A disk takes a minute for that.
    memory = mkdtempSync('/dev/shm/palyra-flood-');
    workspace = join(memory, 'workspace');
    mkdirSync(workspace);
    protection = create(join(memory, 'kept'));
    place = { ...place, roots: [workspace] };
  });

  afterEach(() => {
    rmSync(memory, { recursive: true });
  });

  it('at a protected path: they go, and what was there is there again', async () => {
    write('.husky/pre-commit', 'mine');
    expect(await told(() => flood('.husky'))).toEqual(['replaced .husky']);
    expect(shell('ls -A . .husky; cat .husky/pre-commit').toString()).toBe('.:\n.husky\n\n.husky:\npre-commit\nmine');
    // Too much to be kept.
    expect(readdirSync(join(memory, 'kept'), { recursive: true }).length).toBeLessThan(10);
  }, 60_000);

  it('anywhere else: they hide nothing, and nobody waits long for a turn', async () => {
    const watch = await protection.begin(place);
    flood('wide');
    let turns = 0;
    const count = setInterval(() => (turns += 1), 1);
    const changes = await watch.end();
    clearInterval(count);
    expect(changes).toMatchObject([{ path: at('wide/CLAUDE.md'), what: 'created', restored: true }]);
    expect(turns).toBeGreaterThan(3);
  }, 60_000);
});

describe('what is kept', () => {
  it('is bounded in one run, and everything is taken away', async () => {
    const changes = await run(() => {
      for (let each = 0; each < 40; each += 1) writeLarge(`.claude/${each}`, 1024 * 1024);
    });
    const kept = changes.filter(({ keptAs }) => keptAs !== undefined);
    expect([changes.length, kept.length, changes.every(({ restored }) => restored)]).toEqual([40, 32, true]);
    expect(existsSync(at('.claude'))).toBe(false);
  });

  it('is bounded over all runs: the oldest goes', async () => {
    const first = await run(() => write('.envrc', 'first'));
    for (let each = 0; each < 9; each += 1) {
      await run(() => {
        for (const name of ['CLAUDE.md', 'AGENTS.md', 'GEMINI.md', '.cursorrules']) writeLarge(name, 8 * 1024 * 1024);
      });
    }
    const bytes = shell(`du -sb ${join(base, 'kept')} | cut -f1`).toString();
    expect(Number(bytes)).toBeLessThan(257 * 1024 * 1024);
    expect(existsSync(first[0]?.keptAs ?? '')).toBe(false);
  }, 60_000);

  it('is for a month', async () => {
    const first = await run(() => write('.envrc', 'first'));
    protection = create(join(base, 'kept'), () => Date.now() + 31 * 24 * 3600 * 1000);
    const changes = await run(() => write('CLAUDE.md', 'second'));
    expect([first, changes].map(([change]) => existsSync(change?.keptAs ?? ''))).toEqual([false, true]);
  });
});

describe('hooks that a configuration names from the top of a work tree', () => {
  beforeEach(() => {
    git('init', '-q');
    git('config', 'core.hooksPath', 'tools/hooks');
    write('tools/hooks/pre-commit', 'mine');
    git('add', '-A');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'core.hooksPath=/dev/null', 'commit', '-qm', 'a');
  });

  it('are those of every work tree that was there', async () => {
    git('worktree', 'add', '-q', 'tree');
    const found = await told(() => {
      write('tree/tools/hooks/pre-push', 'evil');
      write('tree/tools/hooks/pre-commit', 'evil');
    });
    expect(found).toEqual(['changed tree/tools/hooks/pre-commit', 'created tree/tools/hooks/pre-push']);
  });

  it('and of one that the run makes, but for what a checkout brings', async () => {
    const found = await told(() => {
      git('worktree', 'add', '-q', 'tree');
      write('tree/tools/hooks/pre-push', 'evil');
    });
    expect(found).toEqual(['created tree/tools/hooks/pre-push']);
    expect(readFileSync(at('tree/tools/hooks/pre-commit'), 'utf8')).toBe('mine');
  });

  it('and where core.worktree says', async () => {
    renameSync(at('.git'), at('repo'));
    git('--git-dir', at('repo'), 'config', 'core.worktree', '../work');
    expect(await told(() => write('work/tools/hooks/pre-push', 'evil'))).toEqual(['created work/tools/hooks/pre-push']);
  });
});

describe('a look', () => {
  it('ends when it is aborted, and leaves no mount point', async () => {
    git('init', '-q');
    rmSync(at('.git/hooks'), { recursive: true });
    shell('mkdir -p wide; cd wide; seq 100 | xargs mkdir');
    const abort = new AbortController();
    const begun = protection.begin({ ...place, mounts: true }, { signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(begun).rejects.toThrow('enough');
    expect(existsSync(at('.git/hooks'))).toBe(false);
  });

  it('for a plan is a short one, from the top', () => {
    write('.mcp.json', '{}');
    shell('mkdir -p a; cd a; seq 30 | xargs mkdir; mkdir -p 1/deep; touch 1/deep/.envrc');
    expect(protection.plan({ ...place, mounts: true }).map(({ path }) => path)).toEqual([at('.mcp.json')]);
  });

  it('for a sandbox that is made ahead says nothing of how things were', async () => {
    write('CLAUDE.md', 'old');
    const prepared = await protection.begin(place, { isPrepared: true });
    write('CLAUDE.md', 'the operator');
    write('AGENTS.md', 'the operator');
    expect(await told(() => write('CLAUDE.md', 'evil'))).toEqual(['changed CLAUDE.md']);
    prepared.release();
    expect(['CLAUDE.md', 'AGENTS.md'].map((name) => readFileSync(at(name), 'utf8'))).toEqual([
      'the operator',
      'the operator',
    ]);
    expect(statSync(at('CLAUDE.md')).nlink).toBe(1);
  });
});
