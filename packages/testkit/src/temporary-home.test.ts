import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTemporaryHome } from './temporary-home.ts';

test('a temporary home is private and gone after its scope, with everything in it', async () => {
  const seen = { path: '', mode: 0 };
  {
    await using home = await createTemporaryHome();
    writeFileSync(join(home.path, 'palyra.toml'), '');
    seen.path = home.path;
    seen.mode = statSync(home.path).mode & 0o777;
  }
  expect(seen.mode).toBe(0o700);
  expect(existsSync(seen.path)).toBe(false);
});
