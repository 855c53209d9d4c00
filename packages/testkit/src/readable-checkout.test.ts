import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkModules } from './readable-checkout.ts';
import { createTemporaryHome } from './temporary-home.ts';

const isRoot = process.getuid?.() === 0;

async function checkoutWithModule() {
  const home = await createTemporaryHome();
  const [checkout, target] = [join(home.path, 'checkout'), join(home.path, 'target')];
  const module = join(checkout, 'node_modules/@scope/one');
  mkdirSync(join(module, 'lib'), { recursive: true });
  mkdirSync(target);
  writeFileSync(join(module, 'lib/index.js'), 'export {};\n');
  symlinkSync('lib/index.js', join(module, 'index.js'));
  // Whatever the umask is here.
  for (const directory of ['', 'lib']) chmodSync(join(module, directory), 0o755);
  chmodSync(join(module, 'lib/index.js'), 0o644);
  const link = () => linkModules(checkout, target, ['node_modules/@scope/one']);
  return {
    home,
    module,
    target,
    link,
    copied: () => readdirSync(target, { recursive: true, encoding: 'utf8' }).toSorted(),
  };
}

test('modules that are ours and open to everybody are linked', async () => {
  const { home, module, target, link, copied } = await checkoutWithModule();
  await using _ = home;
  // What they lie in is made anew, and may be as it likes.
  chmodSync(join(module, '..'), 0o700);
  expect(await link()).toBe(true);
  expect(statSync(join(target, 'node_modules/@scope')).mode & 0o777).toBe(0o755);
  const place = 'node_modules/@scope/one';
  expect(copied()).toEqual([
    'node_modules',
    'node_modules/@scope',
    place,
    `${place}/index.js`,
    `${place}/lib`,
    `${place}/lib/index.js`,
  ]);
  expect(statSync(join(target, place, 'lib/index.js')).ino).toBe(statSync(join(module, 'lib/index.js')).ino);
});

test.for<[string, string, number]>([
  ['a file that only we can read', 'lib/index.js', 0o600],
  ['a file that others can write', 'lib/index.js', 0o666],
  ['a file that our group can write', 'lib/index.js', 0o664],
  ['a directory that others cannot enter', 'lib', 0o744],
])('%s is not linked, and keeps its mode', async ([, path, mode]) => {
  const { home, module, link, copied } = await checkoutWithModule();
  await using _ = home;
  chmodSync(join(module, path), mode);
  expect({ linked: await link(), copied: copied() }).toEqual({ linked: false, copied: [] });
  expect(statSync(join(module, path)).mode & 0o777).toBe(mode);
});

test.runIf(isRoot)('what belongs to somebody else is not linked [needs: root]', async () => {
  const { home, module, link, copied } = await checkoutWithModule();
  await using _ = home;
  chownSync(join(module, 'lib/index.js'), 70_000, 70_000);
  expect({ linked: await link(), copied: copied() }).toEqual({ linked: false, copied: [] });
});

test('when linking fails, nothing of it is left', async () => {
  const { home, target, link, copied } = await checkoutWithModule();
  await using _ = home;
  mkdirSync(join(target, 'node_modules/@scope/one/lib'), { recursive: true });
  writeFileSync(join(target, 'node_modules/@scope/one/lib/index.js'), 'in the way');
  expect({ linked: await link(), copied: copied() }).toEqual({
    linked: false,
    copied: ['node_modules', 'node_modules/@scope'],
  });
});
