import { expect, test } from 'vitest';
import { outOfReach } from './out-of-reach.ts';
import type { FileFacts } from './survey-files.ts';

const directory = (mode: number, uid = 0, gid = 0): FileFacts => ({ kind: 'directory', uid, gid, mode });

const HOST: Readonly<Record<string, FileFacts>> = {
  '/': directory(0o755),
  '/root': directory(0o700),
  '/root/.nvm': directory(0o755),
  '/home': directory(0o755),
  '/home/ada': directory(0o700, 1001, 1001),
  '/srv': directory(0o750, 0, 2000),
};
const files = { stat: (path: string) => HOST[path] };

const PATHS = ['/root/.nvm', '/root/.nvm/v24', '/home/ada/src', '/srv/shop', '/opt/gone/x', '/home'];

test('what a user may not pass through to is out of its reach', () => {
  expect([...outOfReach(PATHS, { uid: 1001, gid: 1001 }, files)]).toEqual([
    '/root/.nvm',
    '/root/.nvm/v24',
    '/srv/shop',
    '/opt/gone/x',
  ]);
  expect(outOfReach(['/srv/shop'], { uid: 1002, gid: 2000 }, files)).toEqual(new Set());
  expect(outOfReach(['/home/ada/src'], { uid: 870_000, gid: 870_000 }, files)).toEqual(new Set(['/home/ada/src']));
});

test('without root there is nobody to hand it over', () => {
  expect(outOfReach(PATHS, undefined, files)).toEqual(new Set());
});
