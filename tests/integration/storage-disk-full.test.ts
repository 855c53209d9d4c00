import { execFileSync } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageError, statement } from '@palyra/storage';
import { type Ledger, openLedger } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { temporaryLedger } from './temporary-ledger.ts';

const mayMount = process.geteuid?.() === 0;
const MIB = 1024 * 1024;

test.skipIf(!mayMount)(
  'a full disk refuses new units, keeps the old ones and recovers by itself [needs: root]',
  async () => {
    await using place = await temporaryLedger();
    const disk = join(place.directory, 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', disk]);
    try {
      const ballast = join(disk, 'ballast');
      await writeFile(ballast, Buffer.alloc(MIB));
      const ledger = await openLedger({ location: { kind: 'sqlite', path: join(disk, 'ledger.db') } });

      const { kept, fault } = await fill(ledger);
      expect(fault).toMatchObject({ code: 'storage.disk_full', fix: expect.stringContaining('space') });
      expect(kept.length).toBeGreaterThan(5);
      await expect(put(ledger, 'while full')).rejects.toBeInstanceOf(StorageError);
      expect(await ids(ledger)).toEqual(kept);

      await rm(ballast);
      await put(ledger, 'after');
      expect(await ids(ledger)).toEqual([...kept, 'after'].toSorted());
      await ledger.close();
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);

async function fill(ledger: Ledger): Promise<{ kept: readonly string[]; fault: unknown }> {
  const kept: string[] = [];
  for (let i = 0; i < 1000; i += 1) {
    const id = `row ${String(i).padStart(4, '0')}`;
    try {
      await put(ledger, id);
      kept.push(id);
    } catch (fault) {
      return { kept, fault };
    }
  }
  throw new Error('The disk never became full.');
}

async function put(ledger: Ledger, id: string): Promise<void> {
  const row = { id, bytes: new Uint8Array(64 * 1024).fill(7) };
  await ledger.commit({ steps: [statement(ledger.write.insertInto('specimens').values(row), { rows: 1 })] });
}

async function ids(ledger: Ledger): Promise<readonly string[]> {
  const rows = await ledger.read.selectFrom('specimens').select('id').execute();
  return rows.map(({ id }) => id).toSorted();
}
