import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { stalePages } from './pages.ts';

test('the generated reference is what `npm run docs` would write', async () => {
  expect(await stalePages(fileURLToPath(new URL('../..', import.meta.url)))).toEqual([]);
});

test('a page that is missing or differs is stale', async () => {
  expect(await stalePages('/nowhere')).toContainEqual({ path: 'docs/reference/config.md' });
});
