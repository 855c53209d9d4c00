import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfigFile } from './read-config-file.ts';

let directory = '';
let path = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-config-'));
  path = join(directory, 'palyra.toml');
});

afterEach(() => rmSync(directory, { recursive: true }));

function unreadable(sentence: string): unknown {
  return expect.objectContaining({
    code: 'config.unreadable',
    message: `${path} ${sentence}.`,
    fix: expect.any(String),
  });
}

test('a file that is not there is absent, and so is one in a directory that is not there', () => {
  expect([readConfigFile(path), readConfigFile(join(directory, 'no', 'palyra.toml'))]).toEqual([
    { kind: 'absent' },
    { kind: 'absent' },
  ]);
});

test('a file is read as it is, also through a link', () => {
  writeFileSync(join(directory, 'real.toml'), '\uFEFF# é\r\n', { mode: 0o600 });
  symlinkSync('real.toml', path);
  expect(readConfigFile(path)).toEqual({ kind: 'present', text: '\uFEFF# é\r\n' });
});

test('a link that leads nowhere is not taken for a missing file', () => {
  symlinkSync('gone.toml', path);
  expect(() => readConfigFile(path)).toThrow(unreadable('is a symbolic link to a file that is not there'));
});

test('a link that leads to itself is refused', () => {
  symlinkSync('palyra.toml', path);
  expect(() => readConfigFile(path)).toThrow(unreadable('is a symbolic link that leads back to itself'));
});

test('a directory is refused', () => {
  mkdirSync(path);
  expect(() => readConfigFile(path)).toThrow(unreadable('is a directory'));
});

test('a named pipe is refused without waiting for it', () => {
  execFileSync('mkfifo', [path]);
  expect(() => readConfigFile(path)).toThrow(unreadable('is not an ordinary file'));
});

test('a path below a file is refused', () => {
  writeFileSync(path, '');
  expect(() => readConfigFile(join(path, 'palyra.toml'))).toThrow(
    expect.objectContaining({ code: 'config.unreadable' }),
  );
});

test('what is not UTF-8 is refused', () => {
  writeFileSync(path, Buffer.from([0x61, 0xff]), { mode: 0o600 });
  expect(() => readConfigFile(path)).toThrow(unreadable('is not UTF-8 text'));
});

test('one mebibyte is read, one byte more is refused', () => {
  writeFileSync(path, '#'.repeat(1024 * 1024), { mode: 0o600 });
  expect(readConfigFile(path).kind).toBe('present');
  truncateSync(path, 1024 * 1024 + 1);
  expect(() => readConfigFile(path)).toThrow(unreadable('is larger than 1 MiB'));
});

test('a file that others can change is refused with the command that mends it', () => {
  writeFileSync(path, '');
  chmodSync(path, 0o664);
  expect(() => readConfigFile(path)).toThrow(
    expect.objectContaining({
      code: 'config.unsafe_permissions',
      message: `${path} can be changed by other users (mode 0664).`,
      fix: `Look through it, then run: chmod go-w ${path}`,
    }),
  );
});
