import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const API = join(ROOT, 'packages/api');
const scratch = mkdtempSync(join(tmpdir(), 'palyra-api-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

function buf(...words: string[]): string {
  const path = `${join(ROOT, 'node_modules/.bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, HOME: scratch, BUF_CACHE_DIR: scratch };
  try {
    return execFileSync(join(ROOT, 'node_modules/.bin/buf'), words, { cwd: API, env, encoding: 'utf8' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}`;
  }
}

describe('palyra.v1', () => {
  test('is commented and named as buf asks', () => expect(buf('lint')).toBe(''));

  test('is formatted', () => expect(buf('format', '--diff')).toBe(''));

  test('breaks no client of the last release', () => expect(buf('breaking', '--against', 'released.binpb')).toBe(''));

  test('a field that is taken away is seen', () => {
    const other = join(scratch, 'other');
    execFileSync('cp', ['-r', API, other]);
    const file = join(other, 'proto/palyra/v1/tool.proto');
    writeFileSync(file, readFileSync(file, 'utf8').replace('  string version = 2;', ''));
    expect(buf('breaking', other, '--against', 'released.binpb')).toContain('"version"');
  });

  test('what is generated is what the sources say', () => {
    buf('generate', '-o', scratch);
    const made = readAll(join(scratch, 'gen/palyra/v1'));
    expect(Object.keys(made).length).toBeGreaterThan(20);
    expect(readAll(join(API, 'gen/palyra/v1'))).toEqual(made);
  });
});

function readAll(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory)
      .toSorted()
      .map((name) => [name, readFileSync(join(directory, name), 'utf8')]),
  );
}
