import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { stalePages } from './pages.ts';

test('the generated reference is what `npm run docs` would write', () => {
  expect(stalePages(fileURLToPath(new URL('../..', import.meta.url)))).toEqual([]);
});

test('a page that is missing or differs is stale', () => {
  expect(stalePages('/nowhere')).toContainEqual({ path: 'docs/reference/config.md' });
});
