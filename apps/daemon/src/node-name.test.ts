import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { nodeName } from './node-name.ts';

test('a home keeps its name, and no two have the same', async () => {
  const homes = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'palyra-node-')));
  try {
    const names = await Promise.all(homes.flatMap((home) => [nodeName(home), nodeName(home)]));
    expect(names[0]).toBe(names[1]);
    expect(new Set(names).size).toBe(2);
    expect(await nodeName(homes[0] as string)).toBe(names[0]);
  } finally {
    for (const home of homes) rmSync(home, { recursive: true });
  }
});
