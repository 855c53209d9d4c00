import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@palyra/primitives';
import { afterAll, expect, test, vi } from 'vitest';
import { HOOK_MAGIC, MOST_MESSAGE } from './hook-frames.ts';
import { openHookListener } from './hook-listener.ts';

const root = mkdtempSync(join(tmpdir(), 'palyra-hooks-'));
afterAll(() => {
  vi.useRealTimers();
  rmSync(root, { recursive: true });
});

function place(): { readonly port: number; readonly key: Buffer } {
  const [at = '', key = ''] = readFileSync(join(root, 'hook'), 'utf8').split('\n');
  return { port: Number(at.split(' ')[1]), key: Buffer.from(key, 'hex') };
}

function head(messageLength: number): Buffer {
  const lengths = Buffer.alloc(10);
  lengths.writeUInt32BE(messageLength, 6);
  return Buffer.concat([HOOK_MAGIC, Buffer.alloc(32, 1), lengths]);
}

test('who has no key is held 32 MiB together, and hooks are answered when they are gone', async () => {
  // Nobody is hung up on for being late: that would end them, too.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const listener = await openHookListener({
    home: { root },
    sessions: {
      answer: async () => ({ exitCode: 0, stdout: 'yes', stderr: '' }),
      caller: () => Promise.reject(new Error('nobody comes')),
      collect: () => {
        throw new Error('nobody comes');
      },
    },
    logger: { warn: () => undefined, error: () => undefined },
    clock: systemClock,
    stopping: new AbortController().signal,
  });
  const { port, key } = place();
  const most = Buffer.concat([head(MOST_MESSAGE), Buffer.alloc(MOST_MESSAGE - 1024)]);
  const strangers = Array.from({ length: 6 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.resume().write(most);
    return { socket, closed: new Promise((resolve) => void socket.once('close', resolve)) };
  });
  // Not all of them fit, and none ends by itself: one is hung up on.
  await Promise.race(strangers.map(({ closed }) => closed));
  for (const { socket, closed } of strangers) {
    socket.destroy();
    await closed;
  }
  await expect.poll(() => listener.connections, { timeout: 20_000 }).toBe(0);

  const body = Buffer.concat([head(2), Buffer.from('{}')]);
  const hook = connect(port, '127.0.0.1');
  hook.write(Buffer.concat([body, createHmac('sha256', key).update('palyra.hook.ask\0').update(body).digest()]));
  const [answer] = (await once(hook, 'data')) as [Buffer];
  expect(answer.subarray(5, 8).toString()).toBe('yes');
  hook.destroy();
  await listener.close();
});
