import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BUNDLED_PROGRAMS, keepPlaces } from './bundled-places.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What an expression is in a file of a bundle. */
const inBundle = (expression: string): unknown =>
  // oxlint-disable-next-line typescript/no-implied-eval, eslint/no-new-func -- the expression is what is tested
  new Function('url', `return ${expression.replaceAll('import.meta.url', 'url')}`)('file:///c/.cache/bundled/3/a.js');

test('a module says where its source is, wherever the checkout is', () => {
  const placed = (property: string) => inBundle(keepPlaces(`import.meta.${property}`, 'packages/x/src/y.ts'));
  expect(placed('url')).toBe('file:///c/packages/x/src/y.ts');
  expect(placed('filename')).toBe('/c/packages/x/src/y.ts');
  expect(placed('dirname')).toBe('/c/packages/x/src');
});

test('a thread that is bundled is started from the bundle, another from its source', () => {
  const path = 'packages/storage/src/sqlite/open-sqlite.ts';
  expect(keepPlaces("entryUrl(import.meta.url, './writer-thread')", path)).toBe(
    "new URL('./packages~storage~src~sqlite~writer-thread.js', import.meta.url)",
  );
  expect(keepPlaces("entryUrl(import.meta.url, './other-thread')", path)).toBe(
    `entryUrl(new URL("../../../${path}", import.meta.url).href, './other-thread')`,
  );
});

test('what a bundle would get wrong is refused', () => {
  expect(keepPlaces("import.meta.resolve('@palyra/daemon/main')", 'a.ts')).toContain('import.meta.resolve');
  expect(() => keepPlaces('import.meta.main', 'packages/x/src/y.ts')).toThrow('import.meta.main');
  expect(() => keepPlaces("import.meta.resolve('./y.ts')", 'packages/x/src/x.ts')).toThrow('import.meta.resolve');
});

test('every program that is bundled is there', () => {
  expect(BUNDLED_PROGRAMS.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
});
