import { describe, expect, it } from 'vitest';
import { type Listed, lookIntoDirectory, type Surroundings } from './look-into-directory.ts';
import { foldName, NAME_TREE, PROTECTED_NAMES } from './protected-names.ts';

const folding = (one: string, other: string) => foldName(one) === foldName(other);
const look = (names: readonly string[], around: Partial<Surroundings> = {}) =>
  lookIntoDirectory(names.map(listed), { path: '/w', node: undefined, isBulk: false, isSame: () => false, ...around });

/** `a/` is a directory, `a@` a link. */
function listed(name: string): Listed {
  if (name.endsWith('/')) return { name: name.slice(0, -1), kind: 'directory' };
  return name.endsWith('@') ? { name: name.slice(0, -1), kind: 'link' } : { name, kind: 'file' };
}

const sighted = (names: readonly string[], around?: Partial<Surroundings>) =>
  look(names, around).sightings.map(({ path, rule }) => `${rule} ${path}`);

describe('what a directory holds', () => {
  it('is protected by its names', () => {
    expect(sighted(['CLAUDE.md', 'README.md', '.vscode/', '.envrc@', 'src/'])).toEqual([
      'whole /w/CLAUDE.md',
      'whole /w/.vscode',
      'whole /w/.envrc',
    ]);
  });

  it('is protected by every name under which a program looks for the same', () => {
    const names = ['.devcontainer.json', '.dir-locals-2.el', '.vimrc', '.helix/', 'opencode.jsonc'];
    expect(sighted([...names, '.woodpecker.yaml', '.cirrus.star']).length).toBe(names.length + 2);
    const node = NAME_TREE.names.get('.github');
    expect(sighted(['instructions/'], { node, path: '/w/.github' })).toEqual(['whole /w/.github/instructions']);
  });

  it('is looked into, but for what is taken as a whole', () => {
    expect(look(['.vscode/', 'src/', 'link@', 'file']).below.map(({ name }) => name)).toEqual(['src']);
  });

  it('counts below a directory that makes it count', () => {
    const node = NAME_TREE.names.get('.github');
    expect(sighted(['workflows/', 'README.md'], { node, path: '/w/.github' })).toEqual(['whole /w/.github/workflows']);
    expect(sighted(['workflows/'])).toEqual([]);
    expect(sighted(['.github@'])).toEqual(['whole /w/.github']);
  });

  it.each(['claude.md', 'CLAUDE.MD', '.ENVRC', '.vſcode/', 'CLAUDE\u200b.md', '.Git'])(
    '%s is protected where the file system takes it for a protected name, and only there',
    (name) => {
      expect([sighted([name]).length, sighted([name], { isSame: folding }).length]).toEqual([0, 1]);
    },
  );

  it('is git’s in a directory of that name, before there is a repository', () => {
    const entries = ['hooks/', 'config'];
    const found = (at: string) => [`hooks ${at}/hooks`, `config ${at}/config`];
    expect(sighted(entries, { path: '/w/.git' })).toEqual(found('/w/.git'));
    expect(sighted(entries, { path: '/w/.GIT' })).toEqual([]);
    expect(sighted(entries, { path: '/w/.GIT', isSame: folding })).toEqual(found('/w/.GIT'));
    expect(sighted(entries, { path: '/w/git' })).toEqual([]);
  });

  it('is a repository by what is in it, whatever it is called', () => {
    const entries = ['HEAD', 'objects/', 'refs/', 'hooks/', 'config', 'config.worktree', 'commondir'];
    const found = ['hooks /w/hooks', 'config /w/config', 'config /w/config.worktree', 'pointer /w/commondir'];
    expect(sighted(entries)).toEqual(found);
    expect(sighted(entries, { isBulk: true })).toEqual(found);
    expect(sighted(['HEAD', 'commondir', 'config.worktree'])).toEqual([
      'config /w/config.worktree',
      'pointer /w/commondir',
    ]);
    expect(sighted(['objects@', 'refs@', 'hooks@'])).toEqual(['hooks /w/hooks']);
    expect(sighted(['objects/', 'hooks/', 'config'])).toEqual([]);
    expect(sighted(['objects/', 'refs/', 'config/'])).toEqual([]);
  });

  it('among installed packages is protected only if git reads it', () => {
    expect(sighted(['CLAUDE.md', '.vscode/', '.git'], { isBulk: true })).toEqual(['pointer /w/.git']);
  });
});

describe('the list', () => {
  it('says of each name why, once', () => {
    expect(PROTECTED_NAMES.every(({ reason }) => /.\.$/.test(reason))).toBe(true);
    expect(new Set(PROTECTED_NAMES.map(({ name }) => foldName(name))).size).toBe(PROTECTED_NAMES.length);
  });

  it.each(
    '.claude .codex .cursor .gemini .mcp.json .vscode .envrc CLAUDE.md AGENTS.md .github/workflows .gitlab-ci.yml .bashrc .zshrc .profile'.split(
      ' ',
    ),
  )('has %s', (name) => {
    expect(PROTECTED_NAMES.map((each) => each.name)).toContain(name);
  });
});
