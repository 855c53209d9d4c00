import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { holdLock } from './hold-lock.ts';

const TRY = `
  const { holdLock } = await import(process.argv[1]);
  try { holdLock(process.argv[2]); console.log('held'); } catch (error) { console.log(error.code); }
  process.kill(process.pid, 'SIGKILL');
`;

test('one process has it, until it gives it back or is killed', async () => {
  await using home = await createTemporaryHome();
  const path = join(home.path, 'lock');
  const another = () => {
    const program = new URL('./hold-lock.ts', import.meta.url).href;
    const argv = ['--conditions=palyra-source', '--input-type=module', '-e', TRY, program, path];
    return spawnSync(process.execPath, argv, { encoding: 'utf8' }).stdout.trim();
  };
  const lock = holdLock(path);
  expect(another()).toBe('storage.locked');
  lock.release();
  expect([another(), another()]).toEqual(['held', 'held']);
});
