import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PolicyError } from './policy-error.ts';
import { readPolicyDirectory } from './read-policy-directory.ts';

let parent = '';
let directory = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-policies-'));
  directory = join(parent, 'policies');
  mkdirSync(join(directory, 'workspaces'), { recursive: true, mode: 0o700 });
});

afterEach(() => rmSync(parent, { recursive: true }));

function put(name: string, content: string | Uint8Array): string {
  const path = join(directory, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

function refusal(): PolicyError {
  try {
    readPolicyDirectory(directory);
  } catch (thrown) {
    if (thrown instanceof PolicyError) return thrown;
    throw thrown;
  }
  throw new Error('the directory was accepted');
}

describe('what is read', () => {
  test('policies and tests, sorted, those of workspaces last; hidden and other files are left alone', () => {
    put('b.cedar', 'b');
    put('a.cedar', '\uFEFFa');
    put('a.policytest.toml', 't');
    put('workspaces/w1.cedar', 'w');
    put('workspaces/w1.policytest.toml', 'wt');
    for (const name of ['.c.cedar.swp', '.#c.cedar', 'README.md', 'a.cedar~']) put(name, 'x');
    const { files, tests } = readPolicyDirectory(directory);
    expect(files).toEqual([
      { name: 'policies/a.cedar', text: 'a', origin: { kind: 'operator' } },
      { name: 'policies/b.cedar', text: 'b', origin: { kind: 'operator' } },
      { name: 'policies/workspaces/w1.cedar', text: 'w', origin: { kind: 'workspace', workspace: 'w1' } },
    ]);
    expect(tests.map(({ name }) => name)).toEqual([
      'policies/a.policytest.toml',
      'policies/workspaces/w1.policytest.toml',
    ]);
  });

  test('a directory that is not there, and an empty one, hold nothing', () => {
    const empty = readPolicyDirectory(directory);
    expect(readPolicyDirectory(join(parent, 'missing'))).toEqual(empty);
    expect(empty).toMatchObject({ files: [], tests: [] });
  });

  test('a link that stays in the directory is followed, and the directory itself may be a link', () => {
    put('.real', 'x');
    symlinkSync('.real', join(directory, 'a.cedar'));
    symlinkSync(directory, join(parent, 'link'));
    expect(readPolicyDirectory(join(parent, 'link')).files).toMatchObject([{ text: 'x' }]);
  });

  test('the digest tells any edit', () => {
    put('a.cedar', 'one');
    const before = readPolicyDirectory(directory).sourceDigest;
    put('a.cedar', 'two');
    expect(readPolicyDirectory(directory).sourceDigest).not.toBe(before);
    put('a.cedar', 'one');
    expect(readPolicyDirectory(directory).sourceDigest).toBe(before);
  });
});

describe('what is refused', () => {
  test.each<[string, () => void, string, string]>([
    ['bytes that are no UTF-8', () => put('a.cedar', Uint8Array.of(0xff, 0xfe)), 'unreadable', 'is not UTF-8 text'],
    ['a directory named like a file', () => mkdirSync(join(directory, 'a.cedar')), 'unreadable', 'is a directory'],
    ['a directory nobody reads', () => mkdirSync(join(directory, 'team')), 'unreadable', 'is a directory that is not'],
    [
      'a link to itself',
      () => symlinkSync('a.cedar', join(directory, 'a.cedar')),
      'unreadable',
      'leads back to itself',
    ],
    ['a link to nothing', () => symlinkSync('gone', join(directory, 'a.cedar')), 'unreadable', 'that is not there'],
    ['a link to a device', () => symlinkSync('/dev/zero', join(directory, 'a.cedar')), 'unreadable', 'leads out of'],
    ['10 MB', () => put('a.cedar', Buffer.alloc(10_000_000, 32)), 'too_large', 'is over 2 MiB'],
    ['a name that is no workspace', () => put('workspaces/a b.cedar', ''), 'unreadable', 'the name of a workspace'],
  ])('%s', (_what, prepare, code, sentence) => {
    prepare();
    expect(refusal()).toMatchObject({ code: `policy.${code}`, message: expect.stringContaining(sentence) });
  });

  test('two links that lead to one another, and a link out of the directory', () => {
    symlinkSync('b.cedar', join(directory, 'a.cedar'));
    symlinkSync('a.cedar', join(directory, 'b.cedar'));
    writeFileSync(join(parent, 'outside'), 'x', { mode: 0o600 });
    symlinkSync('../outside', join(directory, 'c.cedar'));
    expect(refusal().problems.map(({ file, message }) => `${file}: ${message}`)).toEqual([
      'policies/a.cedar: policies/a.cedar is a symbolic link that leads back to itself.',
      'policies/b.cedar: policies/b.cedar is a symbolic link that leads back to itself.',
      'policies/c.cedar: policies/c.cedar is a link that leads out of the directory.',
    ]);
  });

  test('a named pipe does not make it wait', () => {
    execFileSync('mkfifo', ['-m', '600', join(directory, 'a.cedar')]);
    expect(refusal().message).toContain('is not an ordinary file');
  });

  test('a file or directory that others can change', () => {
    chmodSync(put('a.cedar', ''), 0o620);
    expect(refusal()).toMatchObject({ code: 'policy.unsafe_permissions', fix: expect.stringContaining('chmod go-w') });
    chmodSync(join(directory, 'a.cedar'), 0o600);
    chmodSync(join(directory, 'workspaces'), 0o777);
    expect(refusal()).toMatchObject({ code: 'policy.unsafe_permissions' });
  });

  // Only root can give a file away.
  test.runIf(process.geteuid?.() === 0)('a file of another user [needs: root]', () => {
    chownSync(put('a.cedar', ''), 54_321, 54_321);
    expect(refusal()).toMatchObject({ code: 'policy.unsafe_permissions', message: expect.stringContaining('54321') });
  });

  test('too many files, and too many bytes together, without reading them all', () => {
    for (let number = 0; number < 4; number++) put(`${number}.cedar`, Buffer.alloc(1_000_000, 32));
    expect(refusal()).toMatchObject({ code: 'policy.too_large', message: expect.stringContaining('together') });
    for (let number = 0; number < 1001; number++) put(`${number}.cedar`, '');
    expect(refusal()).toMatchObject({ code: 'policy.too_large', message: expect.stringContaining('over 1000 files') });
  });
});
