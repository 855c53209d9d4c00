import fc from 'fast-check';
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

test('SECURITY: T-15 — what was asked before changes no answer', () => {
  const name = fc.oneof(
    fc.constantFrom(
      '.git',
      '.GIT',
      'hooks',
      '.env',
      '.env.local',
      'src',
      'CLAUDE.md',
      'x.cedar',
      '.g\u200Cit',
      'ﬁle.key',
    ),
    fc.string({ maxLength: 4 }),
    fc.constant('a'.repeat(300)),
  );
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
  const question = fc.tuple(path, fc.constantFrom('read', 'write'));
  fc.assert(
    fc.property(question, ([asked, access]) => {
      const fresh = createProtectedPaths(PROTECTED_PATTERNS);
      expect(paths.reasonFor(asked, access)).toBe(fresh.reasonFor(asked, access));
      expect(paths.reasonFor(asked, access)).toBe(fresh.reasonFor(asked, access));
    }),
  );
});

test('however many names there were, the answer is the same', () => {
  const few = createProtectedPaths(PROTECTED_PATTERNS);
  for (let each = 0; each < 3000; each += 1) expect(few.reasonFor(`${each}/.env`, 'write')).toBe('secret');
  expect([few.reasonFor('7/.git', 'write'), few.reasonFor('7/.git', 'read')]).toEqual(['protected', undefined]);
});

test('what runs code comes before what looks like a secret, whichever lies above', () => {
  expect(paths.reasonFor('.aws/.git', 'write')).toBe('protected');
  expect(paths.reasonFor('.git/.aws', 'write')).toBe('protected');
  expect(paths.reasonFor('.git/.aws', 'read')).toBe('secret');
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
