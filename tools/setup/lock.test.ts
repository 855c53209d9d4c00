import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { withLock } from './lock.mjs';

const HOUR_MS = 3_600_000;

let path: string;
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'palyra-lock-'));
  path = join(folder, 'lock');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

function age(ms: number): void {
  const time = new Date(Date.now() - ms);
  utimesSync(path, time, time);
}

async function take(onWait: (holder: number) => void = () => expect.fail('it waits')): Promise<string> {
  return withLock({ path, onWait }, async () => 'worked');
}

describe('a lock that no set-up wrote', () => {
  it.each(['', 'null', '{bad', '7', '[]', '{"token":"x","where":"y","holders":[{"pid":0}]}', '{"holders":[null]}'])(
    'is taken over when it is old: %j',
    async (content) => {
      writeFileSync(path, content);
      age(HOUR_MS);
      expect(await take()).toBe('worked');
      expect(readdirSync(dirname(path))).toEqual([]);
    },
  );

  it('is waited for as long as it may be a set-up that is just starting', async () => {
    writeFileSync(path, '{bad');
    const waited: number[] = [];
    const taken = take((holder) => {
      waited.push(holder);
      age(HOUR_MS);
    });
    expect(await taken).toBe('worked');
    expect(waited).toEqual([0]);
  });

  it('is taken over when it is from the future', async () => {
    writeFileSync(path, 'null');
    age(-HOUR_MS);
    expect(await take()).toBe('worked');
  });

  it.each([
    ['a folder', () => mkdirSync(path)],
    ['a link to nowhere', () => symlinkSync('/nonexistent', path)],
  ])('is refused when it is %s', async (_name, make) => {
    make();
    await expect(take()).rejects.toMatchObject({
      code: 'setup.lock_unusable',
      message: `${path} is not a file, so no set-up made it`,
      fix: expect.stringContaining(`remove ${path}`),
    });
  });
});

describe('a lock of a set-up that was killed', () => {
  /** As it is left behind: our own lock, with another process in our place. */
  async function leftBy(holder: { readonly pid: number | undefined; readonly started?: string }): Promise<void> {
    const own = await withLock({ path, onWait: () => {} }, async () => readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(own) as object), token: 'old', holders: [holder] }));
  }

  it('is taken over at once', async () => {
    const gone = spawn('true');
    await once(gone, 'close');
    await leftBy({ pid: gone.pid });
    expect(await take()).toBe('worked');
  });

  it.runIf(process.platform === 'linux')('is taken over when its number is another process by now', async () => {
    await leftBy({ pid: process.pid, started: '1' });
    expect(await take()).toBe('worked');
  });

  it('is held by the command it had started, until that ends', async () => {
    const command = spawn('sleep', ['60']);
    const ended = once(command, 'close');
    await leftBy({ pid: command.pid });
    const waited: number[] = [];
    const taken = take((holder) => {
      waited.push(holder);
      command.kill();
    });
    expect(await taken).toBe('worked');
    await ended;
    expect(waited).toEqual([command.pid]);
    expect(existsSync(path)).toBe(false);
  });
});
