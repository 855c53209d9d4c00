import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const LENGTH = 4_000_000;

/** As in our writers, where a thread of the database makes standard output one that does not block. */
const PROGRAM = `
import { acknowledge } from '${new URL('./acknowledge.ts', import.meta.url).href}';
process.stdout.on('error', () => {});
process.stderr.write('begun');
acknowledge('x'.repeat(${LENGTH}));
process.kill(process.pid, 'SIGKILL');
`;

test('everything is said before the end, however late it is read', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'exit');
  await once(child.stderr, 'data');
  child.stderr.resume();
  const said = await text(child.stdout);
  expect(await ended).toEqual([null, 'SIGKILL']);
  expect(said.length).toBe(LENGTH);
});
