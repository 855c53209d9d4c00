import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostSurveyFiles, type SurveyFiles } from './survey-files.ts';
import { checkWorkspace, type WorkspaceCheck } from './workspace.ts';

let top: string;
let home: string;

beforeAll(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-workspace-')));
  home = join(top, 'op');
  for (const each of ['.ssh/keys', '.palyra/state', '.config/nvim', '.config/gh', 'shop', 'secret']) {
    mkdirSync(join(home, each), { recursive: true });
  }
  writeFileSync(join(home, 'file'), '');
  symlinkSync(home, join(top, 'link-to-home'));
  symlinkSync('/', join(top, 'link-to-root'));
  symlinkSync(join(home, '.ssh'), join(home, 'shop-keys'));
  symlinkSync(join(home, 'shop'), join(top, 'link-to-shop'));
});

afterAll(() => rmSync(top, { recursive: true, force: true }));

function check(
  root: string,
  changed: { home?: string; palyraHome?: string; files?: SurveyFiles } = {},
): WorkspaceCheck {
  return checkWorkspace({ root, home, palyraHome: join(home, '.palyra'), files: hostSurveyFiles, ...changed });
}

function ok(root: string, changed: { gitDirectories?: string[]; gitRemark?: string } = {}) {
  const owner = { uid: process.geteuid?.(), gid: process.getegid?.() };
  return { kind: 'ok', root, owner, gitDirectories: [], gitRemark: undefined, ...changed };
}

describe('which directories are workspaces', () => {
  // Where desktops put disks that are plugged in.
  test.each([
    ['/run/media/ada/disk/shop', 'ok'],
    ['/run/media', 'refused'],
    ['/run/user/1000/shop', 'refused'],
  ])('%s: %s', (root, kind) => {
    const realPath = (path: string) => (path === root ? root : hostSurveyFiles.realPath(path));
    const stat = (path: string) =>
      path === root ? { kind: 'directory' as const, uid: 1000, gid: 1000, mode: 0o755 } : hostSurveyFiles.stat(path);
    expect(check(root, { files: { ...hostSurveyFiles, realPath, stat } }).kind).toBe(kind);
  });

  test('an ordinary one, under its real name', () => {
    expect(check(join(home, 'shop'))).toEqual(ok(join(home, 'shop')));
    expect(check(`${home}/shop/`)).toEqual(ok(join(home, 'shop')));
    expect(check(join(home, '.config/nvim'))).toEqual(ok(join(home, '.config/nvim')));
  });

  test.each([
    ['', 'The workspace is not an absolute path.'],
    ['shop', 'The workspace is not an absolute path.'],
    ['~/missing', 'The workspace is not a directory.'],
    ['~/file', 'The workspace is not a directory.'],
    ['/dev/null', 'The workspace is not a directory.'],
    ['/', 'The workspace is the whole file system.'],
    ['~', 'The workspace holds a home directory.'],
    ['(top)', 'The workspace holds a home directory.'],
    ['~/.palyra', 'The workspace holds, or lies in, the daemon’s own directory.'],
    ['~/.palyra/state', 'The workspace holds, or lies in, the daemon’s own directory.'],
    ['~/.ssh', 'The workspace holds, or lies in, a place of credentials.'],
    ['~/.ssh/keys', 'The workspace holds, or lies in, a place of credentials.'],
    ['~/.config/gh', 'The workspace holds, or lies in, a place of credentials.'],
    ['~/.config', 'The workspace holds, or lies in, a place of credentials.'],
    ['/etc', 'The workspace belongs to the system.'],
    ['/usr/share', 'The workspace belongs to the system.'],
    ['/var/lib', 'The workspace belongs to the system.'],
    ['/proc', 'The workspace belongs to the system.'],
    ['/sys/fs', 'The workspace belongs to the system.'],
    ['/dev', 'The workspace belongs to the system.'],
    ['/tmp', expect.any(String)],
    ['/var', 'The workspace is too wide.'],
    ['/opt', 'The workspace is too wide.'],
  ])('%s is none', (root, message) => {
    const fix = 'Name the directory of one project.';
    expect(check(root.replace('~', home).replace('(top)', top))).toEqual({
      kind: 'refused',
      code: 'sandbox.unsafe_workspace',
      message,
      fix,
    });
  });

  test.each([
    '(top)/link-to-shop',
    '(top)/link-to-shop/',
    '(top)/link-to-home/shop',
    '(top)/link-to-root',
    '(top)/link-to-home',
    '~/shop-keys',
    '~/shop-keys/keys',
    '/proc/self/root',
    '/proc/self/cwd',
    // Without a link, and not told apart: what is given is not what is mounted.
    '~/.ssh/../shop',
    '~/..',
  ])('%s is not the real path of one, harmless or not (T-14)', (root) => {
    expect(check(root.replace('~', home).replace('(top)', top))).toEqual({
      kind: 'refused',
      code: 'sandbox.unsafe_workspace',
      message: 'The workspace is given by a way that leads through a link.',
      fix: 'Give its real path (realpath).',
    });
  });

  test('a daemon’s directory that does not exist yet is protected under its real name', () => {
    const palyraHome = join(top, 'link-to-shop', 'later/palyra');
    expect(check(join(home, 'shop'), { palyraHome })).toMatchObject({ kind: 'refused' });
  });

  test('a place of credentials, or a directory above it, that is a link is protected where it leads', () => {
    const other = join(top, 'other');
    for (const each of ['elsewhere/keys', 'settings/gh', 'plain']) mkdirSync(join(other, each), { recursive: true });
    mkdirSync(join(other, 'home/.cargo'), { recursive: true });
    symlinkSync(join(other, 'elsewhere'), join(other, 'home/.aws'));
    symlinkSync(join(other, 'settings'), join(other, 'home/.config'));
    symlinkSync(join(other, 'later/file'), join(other, 'home/.cargo/credentials'));
    const within = { home: join(other, 'home'), palyraHome: join(other, 'palyra') };
    const message = 'The workspace holds, or lies in, a place of credentials.';
    for (const root of ['elsewhere', 'elsewhere/keys', 'settings/gh']) {
      expect(check(join(other, root), within)).toMatchObject({ kind: 'refused', message });
    }
    expect(check(join(other, 'plain'), within)).toMatchObject({ kind: 'ok' });
  });

  test('a home in /var makes only itself a place to work in, a home of / makes nothing one', () => {
    const facts = { kind: 'directory', uid: 5, gid: 5, mode: 0o755 } as const;
    const files: SurveyFiles = {
      realPath: (path) => path,
      stat: () => facts,
      lstat: () => undefined,
      list: () => [],
      readText: () => undefined,
      readBytes: () => undefined,
    };
    const inVar = { home: '/var/lib/ci', palyraHome: '/var/lib/ci/.palyra', files };
    expect(check('/var/lib/ci/job', inVar)).toMatchObject({ kind: 'ok' });
    expect(check('/var/lib/other', inVar)).toMatchObject({ kind: 'refused' });
    expect(check('/etc/job', { home: '/', palyraHome: '/.palyra', files })).toMatchObject({ kind: 'refused' });
    expect(check('/home/bob', { files })).toMatchObject({ kind: 'ok' });
    const withProfile: SurveyFiles = { ...files, lstat: (path) => (path === '/home/bob/.profile' ? facts : undefined) };
    expect(check('/home/bob', { files: withProfile })).toMatchObject({ kind: 'refused' });
  });
});

describe('git worktrees (T-14)', () => {
  let repository: string;
  let worktree: string;

  beforeAll(() => {
    repository = join(home, 'repository');
    worktree = join(home, 'feature');
    git(home, 'init', '--quiet', '--initial-branch=main', repository);
    git(repository, '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--allow-empty', '-m', 'first');
    git(repository, 'worktree', 'add', '--quiet', worktree);
  });

  function git(cwd: string, ...args: string[]): void {
    execFileSync('git', args, { cwd, env: { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' } });
  }

  /** A workspace whose `.git` file says so. */
  function pointing(name: string, text: string): string {
    const root = join(home, name);
    mkdirSync(root, { recursive: true });
    writeFileSync(join(root, '.git'), text);
    return root;
  }

  test('a real one brings its repository’s .git', () => {
    expect(check(worktree)).toEqual(ok(worktree, { gitDirectories: [join(repository, '.git')] }));
  });

  test('a repository needs nothing more', () => {
    expect(check(repository)).toEqual(ok(repository));
  });

  test('another directory cannot claim to be that worktree', () => {
    const root = pointing('liar', readFileSync(join(worktree, '.git'), 'utf8'));
    const gitRemark = 'The repository that its .git file names has no such worktree.';
    expect(check(root)).toEqual(ok(root, { gitRemark }));
  });

  test.each([
    ['a directory of secrets', 'gitdir: ../.ssh\n'],
    ['the root', 'gitdir: /\n'],
    ['the repository itself', 'gitdir: ../repository/.git\n'],
    ['nothing', 'gitdir: \n'],
    ['two lines', 'gitdir: ../repository/.git\ngitdir: /etc\n'],
    ['no pointer', 'hello\n'],
    ['a missing place', 'gitdir: ../missing\n'],
  ])('a .git file that names %s mounts nothing', (what, text) => {
    const root = pointing(`names-${what.replaceAll(' ', '-')}`, text);
    expect(check(root)).toEqual(ok(root, { gitRemark: expect.any(String) }));
  });

  test('a forged repository that names another common directory mounts nothing', () => {
    const root = pointing('forged', `gitdir: ${home}/forge/worktrees/x\n`);
    const admin = join(home, 'forge/worktrees/x');
    mkdirSync(admin, { recursive: true });
    writeFileSync(join(admin, 'gitdir'), `${root}/.git\n`);
    writeFileSync(join(admin, 'commondir'), `${home}/secret\n`);
    expect(check(root)).toEqual(ok(root, { gitRemark: expect.any(String) }));
    // The layout is right now, but there is no repository.
    writeFileSync(join(admin, 'commondir'), '../..\n');
    expect(check(root)).toEqual(ok(root, { gitRemark: expect.any(String) }));
  });

  test('a forged repository inside the workspace is part of it and mounts nothing', () => {
    const root = pointing('inside', 'gitdir: fake/worktrees/x\n');
    mkdirSync(join(root, 'fake/worktrees'), { recursive: true });
    mkdirSync(join(root, 'fake/worktrees/x'));
    expect(check(root)).toEqual(ok(root));
    rmSync(join(root, 'fake/worktrees/x'), { recursive: true });
    symlinkSync(join(home, '.ssh'), join(root, 'fake/worktrees/x'));
    expect(check(root)).toEqual(ok(root, { gitRemark: 'Its .git file names no worktree of a repository.' }));
  });

  test('a back-pointer that is a link into the workspace is not believed', () => {
    const root = pointing('linked', `gitdir: ${repository}/.git/worktrees/linked\n`);
    const admin = join(repository, '.git/worktrees/linked');
    mkdirSync(admin);
    writeFileSync(join(admin, 'commondir'), '../..\n');
    writeFileSync(join(root, 'back'), `${root}/.git\n`);
    symlinkSync(join(root, 'back'), join(admin, 'gitdir'));
    expect(check(root)).toEqual(ok(root, { gitRemark: expect.stringContaining('no such worktree') }));
    rmSync(join(admin, 'gitdir'));
    writeFileSync(join(admin, 'gitdir'), `${root}/.git\n`);
    expect(check(root)).toEqual(ok(root, { gitDirectories: [join(repository, '.git')] }));
  });

  test.each([
    ['names another common directory', 'worktrees/other', '../../../../secret\n'],
    ['lies elsewhere in the repository', 'elsewhere/other', '../..\n'],
  ])('a worktree that %s is not believed', (_, place, commondir) => {
    const admin = join(repository, '.git', place);
    const root = pointing(`odd-${place.replace('/', '-')}`, `gitdir: ${admin}\n`);
    mkdirSync(admin, { recursive: true });
    writeFileSync(join(admin, 'gitdir'), `${root}/.git\n`);
    writeFileSync(join(admin, 'commondir'), commondir);
    expect(check(root)).toEqual(ok(root, { gitRemark: 'Its .git file names no worktree of a repository.' }));
  });

  test('a repository of somebody else, or where a tool must not reach, is not mounted', () => {
    const foreign: SurveyFiles = {
      ...hostSurveyFiles,
      lstat: (path) => {
        const facts = hostSurveyFiles.lstat(path);
        return facts === undefined || !path.startsWith(join(repository, '.git')) ? facts : { ...facts, uid: 4242 };
      },
    };
    const gitRemark = 'The repository that its .git file names belongs to somebody else.';
    expect(check(worktree, { files: foreign })).toEqual(ok(worktree, { gitRemark }));
    expect(check(worktree, { palyraHome: join(repository, '.git/palyra') })).toEqual(
      ok(worktree, { gitRemark: 'Its repository lies where a tool must not reach.' }),
    );
  });

  test('a .git that is a link is not followed', () => {
    const root = join(home, 'symbolic');
    mkdirSync(root);
    symlinkSync(join(repository, '.git'), join(root, '.git'));
    expect(check(root)).toEqual(ok(root, { gitRemark: 'Its .git is a link, which is not followed.' }));
  });
});
