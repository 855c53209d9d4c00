import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, it } from 'vitest';
import { isLockfileInStep } from './lockfile-in-step.mjs';
import { workspaces } from './npm-dependencies.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

async function checkout(packages: Record<string, object>) {
  const home = await createTemporaryHome();
  const write = (path: string, content: object) => writeFileSync(join(home.path, path), JSON.stringify(content));
  mkdirSync(join(home.path, 'a'));
  write('package.json', { devDependencies: { x: '1.0.0', y: '2.0.0' } });
  write('a/package.json', { dependencies: { z: '3.0.0' } });
  write('package-lock.json', { packages });
  return home;
}

const LOCKED = {
  '': { devDependencies: { y: '2.0.0', x: '1.0.0' } },
  a: { dependencies: { z: '3.0.0' } },
  'node_modules/x': { version: '1.0.0' },
};

it('is in step when every manifest asks for what the lockfile was written for, in whatever order', async () => {
  await using home = await checkout(LOCKED);
  expect(isLockfileInStep(home.path, ['a'])).toBe(true);
});

it.each([
  ['another version', { ...LOCKED, '': { devDependencies: { x: '1.0.1', y: '2.0.0' } } }],
  ['a dependency that was added', { ...LOCKED, a: {} }],
  ['one that was removed', { ...LOCKED, a: { dependencies: { z: '3.0.0' }, optionalDependencies: { w: '1.0.0' } } }],
  ['a workspace that is new', { '': LOCKED[''] }],
])('is not in step after %s', async (_, packages) => {
  await using home = await checkout(packages);
  expect(isLockfileInStep(home.path, ['a'])).toBe(false);
});

it('is in step in this repository, or every set-up would rewrite it', () => {
  expect(
    isLockfileInStep(
      ROOT,
      workspaces(ROOT).map(({ path }) => relative(ROOT, path)),
    ),
  ).toBe(true);
});
