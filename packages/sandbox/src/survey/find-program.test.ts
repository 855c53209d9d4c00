import { expect, test } from 'vitest';
import { findProgram } from './find-program.ts';
import type { FileFacts } from './survey-files.ts';

const FILES: Readonly<Record<string, FileFacts>> = {
  '/usr/bin/git': { kind: 'file', uid: 0, gid: 0, mode: 0o755 },
  '/usr/bin/notes': { kind: 'file', uid: 0, gid: 0, mode: 0o644 },
  '/opt/bin/git': { kind: 'file', uid: 0, gid: 0, mode: 0o755 },
  '/opt/bin/doc': { kind: 'directory', uid: 0, gid: 0, mode: 0o755 },
};
const find = (name: string, path = '/nowhere:/usr/bin:/opt/bin') =>
  findProgram({ name, path, cwd: '/work/src', files: { stat: (at) => FILES[at] } });

test('the first executable file on PATH is the program', () => {
  expect(find('git')).toBe('/usr/bin/git');
  expect(find('git', '/opt/bin:/usr/bin')).toBe('/opt/bin/git');
});

test('what cannot be executed, is no file, or lies where PATH is relative, is not found', () => {
  expect(find('notes')).toBeUndefined();
  expect(find('doc')).toBeUndefined();
  expect(find('git', '.:usr/bin:')).toBeUndefined();
});

test('a name with a slash is a path, from the working directory', () => {
  expect(find('./run.sh')).toBe('/work/src/run.sh');
  expect(find('../bin/x')).toBe('/work/bin/x');
  expect(find('/usr/bin/git')).toBe('/usr/bin/git');
});
