import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { parseConfig } from './parse-config.ts';
import { readConfigFile } from './read-config-file.ts';
import { renderDefaultConfig } from './render-config.ts';
import { SETTINGS } from './settings.ts';
import { writeConfig } from './write-config.ts';

let directory = '';
let path = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-write-'));
  path = join(directory, 'palyra.toml');
});

afterEach(() => rmSync(directory, { recursive: true }));

test('the default file sets nothing, and names and explains everything', () => {
  const text = renderDefaultConfig();
  expect(parseConfig(text, 'x')).toEqual(parseConfig('', 'x'));

  const uncommented = text.replaceAll(/^#(?! )/gm, '');
  expect(parseConfig(uncommented, 'x')).toEqual({
    config: parseConfig('', 'x').config,
    present: new Set(SETTINGS.map(({ key }) => key)),
  });
  expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
});

test('a new file is readable by this user alone, whatever the umask', () => {
  const umask = process.umask(0);
  try {
    writeConfig(path, renderDefaultConfig(), { mode: 'create' });
  } finally {
    process.umask(umask);
  }
  expect(lstatSync(path).mode & 0o777).toBe(0o600);
  expect(readConfigFile(path)).toEqual({ kind: 'present', text: renderDefaultConfig() });
  expect(readdirSync(directory)).toEqual(['palyra.toml']);
});

test('an existing file is never overwritten by creating, and is replaced by replacing', () => {
  writeFileSync(path, '# mine\n');
  expect(() => writeConfig(path, '', { mode: 'create' })).toThrow(
    expect.objectContaining({ code: 'config.file_exists' }),
  );
  expect(readFileSync(path, 'utf8')).toBe('# mine\n');
  chmodSync(path, 0o666);
  writeConfig(path, '# theirs\n', { mode: 'replace' });
  expect([readFileSync(path, 'utf8'), lstatSync(path).mode & 0o777, readdirSync(directory)]).toEqual([
    '# theirs\n',
    0o600,
    ['palyra.toml'],
  ]);
});

test('a text that would be refused when read is not written', () => {
  writeFileSync(path, '# mine\n');
  expect(() => writeConfig(path, 'x = 1', { mode: 'replace' })).toThrow(
    expect.objectContaining({ code: 'config.unknown_key' }),
  );
  expect(readFileSync(path, 'utf8')).toBe('# mine\n');
});

test('a failed write leaves what was there and nothing else', () => {
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), '');
  expect(() => writeConfig(path, '', { mode: 'replace' })).toThrow(
    expect.objectContaining({ code: 'config.write_failed' }),
  );
  expect([readdirSync(directory), readdirSync(path)]).toEqual([['palyra.toml'], ['inside']]);
  expect(() => writeConfig(join(directory, 'no', 'x'), '', { mode: 'create' })).toThrow(
    expect.objectContaining({ code: 'config.write_failed' }),
  );
});

test('a symbolic link is not written through, nor replaced', () => {
  symlinkSync('elsewhere.toml', path);
  for (const mode of ['create', 'replace'] as const) {
    expect(() => writeConfig(path, '', { mode })).toThrow(expect.objectContaining({ code: 'config.write_failed' }));
  }
  expect(readdirSync(directory)).toEqual(['palyra.toml']);
});
