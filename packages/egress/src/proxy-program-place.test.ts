import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { installationOf, proxyProgram } from './proxy-program-place.ts';

test('the program, Node and what they import lie in what is named to be read', () => {
  const { argv, readFrom } = proxyProgram();
  const paths = argv.filter((word) => word.startsWith('/'));
  expect(paths).toHaveLength(2);
  for (const path of paths) expect(readFrom.some((root) => path === root || path.startsWith(`${root}/`))).toBe(true);
  expect(existsSync(`${readFrom[0]}/node_modules/tldts`)).toBe(true);
});

test('an installed program is read from the first directory of packages above it', () => {
  const program = '/root/app/node_modules/palyra/node_modules/@palyra/egress/dist/proxy/proxy-program.js';
  expect(installationOf(program)).toBe('/root/app/node_modules');
});
