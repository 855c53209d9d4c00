import { expect, test } from 'vitest';
import { bundleVerifier } from '../../tools/release/standalone-verifier.ts';
import { scanImports } from './scan-imports.ts';

test('the part of journal that browsers load bundles into one file that imports nothing', async () => {
  const code = await bundleVerifier('packages/journal/src/verify/index.ts');
  expect(scanImports(code)).toEqual([]);
  expect(code).toContain('verifyLog');
  expect(code).not.toContain('node:');
});

test('a module of Node would be noticed', async () => {
  await expect(bundleVerifier('packages/journal/src/node-crypto.ts')).rejects.toThrow(
    /does not bundle|is not one file/,
  );
});
