import { describe, expect, test } from 'vitest';
import { PROTECTED_PATTERNS } from '../protected-patterns.ts';
import { createProtectedPaths, refuseProtected } from './protected-paths.ts';

const paths = createProtectedPaths(PROTECTED_PATTERNS);

describe('written without an approval are not', () => {
  test.each([
    '.git/hooks/pre-commit',
    '.git',
    '.GIT/config',
    'nested/repo/.git/config',
    'mirror.git/hooks/update',
    '.g\u200Cit/hooks/x',
    '.git./hooks/x',
    '.git /hooks/x',
    '.gıt'.replace('ı', 'I'),
    '.bashrc',
    'home/.zshrc',
    '.claude/settings.json',
    '.codex/config.toml',
    '.cursor/rules',
    '.gemini/settings.json',
    '.mcp.json',
    '.vscode/tasks.json',
    '.envrc',
    'CLAUDE.md',
    'docs/AGENTS.md',
    '.github/workflows/ci.yml',
    'policies/x.cedar',
    'palyra.toml',
    'mise.toml',
    '.yarnrc.yml',
    '.amazonq/rules/x.md',
    '.junie/guidelines.md',
    'keys/id_ed25519_sk',
    '.config/gh/hosts.yml',
    '_netrc',
    '.vault-token',
  ])('%s', (path) => {
    expect(paths.reasonFor(path, 'write')).toBeDefined();
  });
});

describe('free to write are', () => {
  test.each(['src/git/hooks.ts', 'README.md', '.gitignore', 'docs/environment.md', '.github/CODEOWNERS', 'agents.ts'])(
    '%s',
    (path) => {
      expect(paths.reasonFor(path, 'write')).toBeUndefined();
    },
  );
});

test('what runs code may be read, what looks like a secret may not', () => {
  expect(paths.reasonFor('CLAUDE.md', 'read')).toBeUndefined();
  for (const path of ['.env', '.ENV.local', 'server.pem', 'a/b/tls.KEY', '.npmrc', '.pypirc', 'x/credentials.json']) {
    expect([path, paths.reasonFor(path, 'read')]).toEqual([path, 'secret']);
  }
});

test('a malformed pattern is a fault, not a gap', () => {
  expect(() => createProtectedPaths([{ pattern: '[x', reason: 'secret', access: 'any' }])).toThrow(/malformed/);
});

test('an approval of some files is not one of others', () => {
  const found = [
    { path: '.env', reason: 'secret' },
    { path: '.git/config', reason: 'protected' },
  ] as const;
  expect(() => refuseProtected(found, false)).toThrow('.env looks');
  expect(() => refuseProtected(found, ['.env'])).toThrow('.git/config can run');
  expect(refuseProtected(found, ['.git/config', '.env'])).toBeUndefined();
  expect(refuseProtected(found, true)).toBeUndefined();
});
