import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Everything a module imports, itself and through others. */
function importsFrom(module: URL, seen: Set<string> = new Set()): Set<string> {
  for (const [, specifier = ''] of readFileSync(module, 'utf8').matchAll(/\bfrom '([^']+)'/g)) {
    const imported = specifier.startsWith('.') ? new URL(specifier, module).href : specifier;
    if (seen.has(imported)) continue;
    seen.add(imported);
    if (specifier.startsWith('.')) importsFrom(new URL(imported), seen);
  }
  return seen;
}

test('the entry for browsers reaches nothing but modules of this package', () => {
  const imported = [...importsFrom(new URL('./browser.ts', import.meta.url))];
  expect(imported.length).toBeGreaterThan(10);
  expect(imported.filter((specifier) => !specifier.startsWith('file:'))).toEqual([]);
});
