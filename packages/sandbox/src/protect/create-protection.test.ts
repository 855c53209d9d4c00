import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setImmediate as afterOthers } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolvePath } from '../survey/survey-files.ts';
import { createProtection, type ProtectedPlace, type Protection } from './create-protection.ts';

let base: string;
let workspace: string;
let protection: Protection;
let place: ProtectedPlace;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-protect-')));
  workspace = join(base, 'workspace');
  mkdirSync(workspace);
  protection = create(join(base, 'kept'));
  place = { roots: [workspace], gitDirectories: [join(workspace, '.git')], lifted: [], mounts: false };
});

afterEach(() => {
  rmSync(base, { recursive: true });
});

function create(keptDirectory: string): Protection {
  const realPath = (path: string) =>
    resolvePath({ realPath: (each) => (existsSync(each) ? realpathSync(each) : undefined) }, path);
  return createProtection({ keptDirectory, realPath, home: '/nonexistent', now: Date.now });
}

const at = (path: string) => join(workspace, path);
function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
}
const git = (...args: readonly string[]) => execFileSync('git', ['-C', workspace, ...args], { stdio: 'pipe' });

/** By the clock of the file system: only what is clearly older than a run counts as older. */
async function untilOlder(path: string): Promise<void> {
  const probe = join(base, 'probe');
  do {
    await afterOthers();
    writeFileSync(probe, '');
  } while (statSync(probe).ctimeMs - statSync(path).ctimeMs < 100);
}

/** What a run that does this is told. */
async function changesAfter(act: () => void, where: ProtectedPlace = place): Promise<readonly string[]> {
  const watch = await protection.begin(where);
  act();
  const changes = await watch.end();
  return changes.map(
    ({ path, what, restored }) => `${what} ${path.slice(workspace.length + 1)}${restored ? '' : ' not'}`,
  );
}

describe('what a run did to protected paths', () => {
  it('is nothing where it did nothing, however often', async () => {
    write('CLAUDE.md', 'a');
    git('init', '-q');
    expect(await changesAfter(() => {})).toEqual([]);
    expect(await changesAfter(() => {})).toEqual([]);
  });

  it('is found although times were set back', async () => {
    write('CLAUDE.md', 'aaaa');
    const { atime, mtime } = statSync(at('CLAUDE.md'));
    await changesAfter(() => {});
    const changes = await changesAfter(() => {
      write('CLAUDE.md', 'bbbb');
      write('new/.envrc', 'c');
      utimesSync(at('CLAUDE.md'), atime, mtime);
      utimesSync(at('new'), 1, 1);
      utimesSync(workspace, 1, 1);
    });
    expect(changes).toEqual(['changed CLAUDE.md', 'created new/.envrc']);
    expect(readFileSync(at('CLAUDE.md'), 'utf8')).toBe('aaaa');
  });

  it('is not what the operator did between two runs', async () => {
    write('CLAUDE.md', 'a');
    await changesAfter(() => {});
    write('CLAUDE.md', 'b');
    write('sub/AGENTS.md', 'b');
    expect(await changesAfter(() => write('CLAUDE.md', 'c'))).toEqual(['changed CLAUDE.md']);
    expect([readFileSync(at('CLAUDE.md'), 'utf8'), readFileSync(at('sub/AGENTS.md'), 'utf8')]).toEqual(['b', 'b']);
  });

  // T-39: each line was a walk of its own, all of them in one turn of the loop.
  it('is judged without holding up everybody, however deep a configuration leads, and however often', async () => {
    const deep = 'a/'.repeat(1800);
    mkdirSync(at(deep), { recursive: true });
    const watch = await protection.begin(place);
    for (const name of ['objects', 'refs']) mkdirSync(at(`git/${name}`), { recursive: true });
    write('git/config', `[core]\n${`worktree = ../${deep}\n`.repeat(60)}`);
    let [last, longest] = [performance.now(), 0];
    const ticking = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 5);
    expect(await watch.end()).toEqual([]);
    await afterOthers();
    clearInterval(ticking);
    expect(Math.max(longest, performance.now() - last)).toBeLessThan(1500);
  });

  it('is nothing when the same bytes were written again', async () => {
    write('.husky/_/h', 'x');
    expect(await changesAfter(() => write('.husky/_/h', 'x'))).toEqual([]);
  });

  it('is not that a repository with hooks and settings was renamed', async () => {
    mkdirSync(at('sub'));
    git('init', '-q', 'sub');
    git('-C', 'sub', 'config', 'credential.helper', 'mine');
    write('sub/.git/hooks/pre-push', '#!/bin/sh\n');
    write('sub/CLAUDE.md', 'a');
    expect(await changesAfter(() => renameSync(at('sub'), at('other')))).toEqual([]);
    expect(readFileSync(at('other/.git/hooks/pre-push'), 'utf8')).toBe('#!/bin/sh\n');
  });

  it('nor that one was removed', async () => {
    git('init', '-q', 'sub');
    write('sub/.git/hooks/pre-push', '#!/bin/sh\n');
    expect(await changesAfter(() => rmSync(at('sub'), { recursive: true }))).toEqual([]);
  });

  it('nor that one went away inside another', async () => {
    git('init', '-q');
    git('init', '-q', '--bare', '.git/modules/sub');
    write('.git/modules/sub/hooks/pre-push', '#!/bin/sh\n');
    expect(await changesAfter(() => rmSync(at('.git/modules/sub'), { recursive: true }))).toEqual([]);
  });

  it('is found behind the operator’s own links and settings', async () => {
    git('init', '-q');
    git('config', 'core.hooksPath', 'tools/hooks');
    git('config', 'include.path', '../shared.config');
    write('docs/ai.md', 'a');
    symlinkSync('docs/ai.md', at('CLAUDE.md'));
    const changes = await changesAfter(() => {
      write('docs/ai.md', 'evil');
      write('tools/hooks/pre-commit', 'evil');
      write('shared.config', '[core]\n\tpager = evil\n');
    });
    expect(changes).toEqual(['changed docs/ai.md', 'created shared.config', 'created tools/hooks/pre-commit']);
    expect(readFileSync(at('docs/ai.md'), 'utf8')).toBe('a');
  });

  it('is found behind hooks and a configuration that are links', async () => {
    git('init', '-q');
    rmSync(at('.git/hooks'), { recursive: true });
    write('tools/pre-push', 'mine');
    symlinkSync('../tools', at('.git/hooks'));
    renameSync(at('.git/config'), at('config'));
    symlinkSync('../config', at('.git/config'));
    const changes = await changesAfter(() => {
      write('tools/pre-push', 'evil');
      write('config', '[core]\n\tpager = evil\n');
    });
    expect(changes).toEqual(['changed config', 'changed tools/pre-push']);
  });

  it('is put back in full: mode, link, directories that are gone', async () => {
    write('.claude/commands/a.md', 'a');
    chmodSync(at('.claude/commands/a.md'), 0o640);
    symlinkSync('a.md', at('.claude/commands/b.md'));
    expect(await changesAfter(() => rmSync(at('.claude'), { recursive: true }))).toEqual(['removed .claude']);
    expect(statSync(at('.claude/commands/a.md')).mode & 0o777).toBe(0o640);
    expect(readFileSync(at('.claude/commands/b.md'), 'utf8')).toBe('a');
  });

  it('is told although it cannot be put back', async () => {
    write('.vscode/large', 'x'.repeat(1024 * 1024 + 1));
    expect(await changesAfter(() => write('.vscode/large', 'y'))).toEqual(['changed .vscode/large not']);
  });

  it('is kept on another file system too', async () => {
    const elsewhere = mkdtempSync('/dev/shm/palyra-protect-');
    try {
      protection = create(elsewhere);
      const found = await changesAfter(() => {
        write('CLAUDE.md', 'evil');
        mkdirSync(at('.envrc'));
        write('.gitconfig', 'evil');
        linkSync(at('.gitconfig'), at('harmless'));
      });
      expect(found).toEqual(['created .gitconfig', 'created CLAUDE.md']);
      const kept = readdirSync(elsewhere, { recursive: true }).filter((name) => /CLAUDE/.test(String(name)));
      expect(kept).toHaveLength(1);
    } finally {
      rmSync(elsewhere, { recursive: true });
    }
  });

  it('is looked for among packages after the run, and what was there before it is left', async () => {
    git('init', '-q', 'node_modules/old');
    write('node_modules/old/.git/hooks/pre-push', 'before');
    write('node_modules/a/CLAUDE.md', 'a package ships it');
    await untilOlder(at('node_modules/old/.git/hooks/pre-push'));
    expect(await changesAfter(() => write('node_modules/b/.vscode/x', 'as here'))).toEqual([]);
    expect(await changesAfter(() => write('node_modules/old/.git/hooks/pre-commit', 'evil'))).toEqual([
      'created node_modules/old/.git/hooks/pre-commit',
    ]);
    expect(readFileSync(at('node_modules/old/.git/hooks/pre-push'), 'utf8')).toBe('before');
  });

  it('holds the same for every path that was not lifted', async () => {
    const lifted = { ...place, lifted: [at('.vscode')] };
    const act = () => {
      write('.vscode/a', 'a');
      write('.zed/a', 'a');
    };
    expect(await changesAfter(act, lifted)).toEqual(['created .zed/a']);
  });
});

describe('what would be mounted', () => {
  it('is said without making anything', () => {
    git('init', '-q');
    rmSync(at('.git/hooks'), { recursive: true });
    write('.mcp.json', '{}');
    const mounts = protection.plan({ ...place, mounts: true });
    expect(mounts.map(({ path, writable }) => [path, writable])).toEqual([
      [at('.git'), true],
      [at('.git/hooks'), false],
      [at('.mcp.json'), false],
    ]);
    expect(existsSync(at('.git/hooks'))).toBe(false);
  });

  it('is nothing where there is no namespace to mount in', () => {
    write('.mcp.json', '{}');
    expect(protection.plan(place)).toEqual([]);
  });

  it('is only what a command that runs already holds too, for all else it could exchange for a link', async () => {
    write('.mcp.json', '{}');
    const inBox = { ...place, mounts: true };
    const first = await protection.begin(inBox);
    first.started();
    write('dir/.envrc', 'x');
    const second = await protection.begin(inBox);
    expect(second.mounts.map(({ path }) => path)).toEqual([at('.mcp.json')]);
    second.release();
    first.release();
    const third = await protection.begin(inBox);
    expect(third.mounts.map(({ path }) => path)).toEqual([at('.mcp.json'), at('dir'), at('dir/.envrc')]);
    third.release();
  });

  it('is waited for by one that could rename it, until that is cancelled', async () => {
    write('.mcp.json', '{}');
    const inBox = { ...place, mounts: true };
    const held = await protection.begin(inBox);
    rmSync(at('.mcp.json'));
    const stop = new AbortController();
    const beside = protection.begin(inBox, { signal: stop.signal });
    for (let turn = 0; turn < 20; turn += 1) await afterOthers();
    stop.abort();
    await expect(beside).rejects.toThrow('aborted');
    held.release();
    expect(await changesAfter(() => write('.mcp.json', 'x'))).toEqual(['created .mcp.json']);
  });

  it('leaves clones that come and go alone, and holds a hook that is there', () => {
    git('init', '-q', 'clone');
    git('init', '-q', 'own');
    write('own/.git/hooks/pre-push', 'x');
    expect(protection.plan({ ...place, mounts: true }).map(({ path }) => path)).toEqual([
      at('own'),
      at('own/.git'),
      at('own/.git/hooks'),
    ]);
  });
});
