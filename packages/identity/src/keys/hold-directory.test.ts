import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdDirectory } from './hold-directory.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-hold-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const busy = { code: 'identity.ca_busy' };

test('whoever comes while one is at it is refused, and the next one is not', async () => {
  const over = Promise.withResolvers<string>();
  const first = holdDirectory(directory, () => over.promise);
  await expect(holdDirectory(directory, async () => 'second')).rejects.toMatchObject(busy);
  over.resolve('first');
  expect(await first).toBe('first');
  await expect(holdDirectory(directory, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  expect(await holdDirectory(directory, async () => 'third')).toBe('third');
  expect(readdirSync(directory)).toEqual([]);
});

/** A claim as another process would have left it: of this one, with other words in it. */
async function leaveClaim(change: (claim: string) => string): Promise<string> {
  let text = '';
  await holdDirectory(directory, async () => {
    text = readFileSync(join(directory, readdirSync(directory)[0] ?? ''), 'utf8');
  });
  const path = join(directory, 'other.claim');
  writeFileSync(path, change(text));
  return path;
}

test('a process that lives keeps its place; one that is gone, or whose number another has now, does not', async () => {
  await leaveClaim((claim) => claim);
  await expect(holdDirectory(directory, async () => 'held')).rejects.toMatchObject(busy);
  rmSync(join(directory, 'other.claim'));
  await leaveClaim((claim) => claim.replace(/ \d+ /, ' 1 '));
  expect(await holdDirectory(directory, async () => readdirSync(directory).length)).toBe(1);
});

test('of one on another machine, or in another container, only the age is known', async () => {
  const path = await leaveClaim((claim) => claim.replace(/ (\d+) .*/, ' $1 elsewhere'));
  await expect(holdDirectory(directory, async () => 'held')).rejects.toMatchObject(busy);
  const old = new Date(Date.now() - 601_000);
  utimesSync(path, old, old);
  expect(await holdDirectory(directory, async () => 'held')).toBe('held');
});
