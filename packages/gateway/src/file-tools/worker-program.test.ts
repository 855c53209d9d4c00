import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const DIRECTORY = fileURLToPath(new URL('./worker/', import.meta.url));

test('what runs in the sandbox imports nothing but Node and its neighbours: nothing else is shown there', () => {
  const files = readdirSync(DIRECTORY).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const imported = files.flatMap((name) => {
    const text = readFileSync(`${DIRECTORY}${name}`, 'utf8');
    return [...text.matchAll(/^(?:import|export)\b[^;]*?\bfrom '([^']+)';/gm)].map(
      ([, specifier]) => `${name}: ${specifier}`,
    );
  });
  expect(imported.length).toBeGreaterThan(files.length);
  expect(imported.filter((each) => !/: (?:node:[a-z0-9]+|\.\/[a-z-]+\.ts)$/.test(each))).toEqual([]);
});
