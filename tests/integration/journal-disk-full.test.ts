import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Journal, JournalError } from '@palyra/journal';
import {
  attestSampleCall,
  createSampleCalls,
  createTemporaryHome,
  journalFaults,
  openJournalHome,
  SAMPLE_ACTOR,
} from '@palyra/testkit';
import { expect, test } from 'vitest';

const mayMount = process.geteuid?.() === 0;
const MIB = 1024 * 1024;
const calls = createSampleCalls();

test.skipIf(!mayMount)(
  'on a full disk nothing is recorded and everybody is told; when space returns, the journal goes on [needs: root]',
  async () => {
    await using home = await createTemporaryHome();
    const disk = join(home.path, 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m,mode=0700', 'tmpfs', disk]);
    try {
      const ballast = join(disk, 'ballast');
      // As much as the write-ahead log may hold: it is copied to the database before it can be used again.
      await writeFile(ballast, Buffer.alloc(6 * MIB));
      const place = { directory: disk, location: { kind: 'sqlite', path: join(disk, 'palyra.db') } } as const;
      await using opened = await openJournalHome(place);
      const { journal } = opened;

      const appended = await fillWith(journal, 48 * 1024);
      expect(appended).toBeGreaterThan(5);
      for (const attempt of [
        () => record(journal, 48 * 1024),
        () => journal.append(SAMPLE_ACTOR, [calls.runEnded(1)]),
        () => attestSampleCall(journal, calls, { input: 'ls', output: 'x'.repeat(48 * 1024) }),
        () => record(journal, 2 * MIB),
      ]) {
        await expect(attempt()).rejects.toMatchObject({ code: 'journal.not_recorded', fix: expect.any(String) });
      }
      expect(await countOf(journal)).toBe(appended + FIRST);

      await rm(ballast);
      await record(journal, 1000);
      await attestSampleCall(journal, calls, { input: 'ls', output: 'x' });
      expect(await countOf(journal)).toBe(appended + FIRST + 1 + 5);
      expect(await journalFaults(place)).toEqual([]);
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);

/** `log.created` and the two keys. */
const FIRST = 3;

/** Bodies of this size, and then entries alone, until nothing goes on the disk any more. */
async function fillWith(journal: Journal, bytes: number): Promise<number> {
  let appended = 0;
  for (const append of [() => record(journal, bytes), () => journal.append(SAMPLE_ACTOR, [calls.runEnded(1)])]) {
    for (let full = false; !full; ) {
      try {
        await append();
        appended += 1;
      } catch (error) {
        if (!(error instanceof JournalError) || error.code !== 'journal.not_recorded') throw error;
        full = true;
      }
    }
  }
  return appended;
}

async function record(journal: Journal, bytes: number): Promise<void> {
  const input = await journal.bodies.prepare(new Uint8Array(bytes).fill(120));
  await journal.append(SAMPLE_ACTOR, [{ kind: 'proposal', data: { ...calls.call(), input } }]);
}

async function countOf(journal: Journal): Promise<number> {
  let count = 0;
  for (let cursor: number | undefined = -1; cursor !== undefined; ) {
    const page = await journal.query({ cursor, limit: 1000 });
    count += page.entries.length;
    cursor = page.next;
  }
  return count;
}
