import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { secureRandomBytes } from '@palyra/primitives';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createBodyPreparer } from '../../packages/journal/src/bodies/prepare-body.ts';

const mayMount = process.geteuid?.() === 0;
const MIB = 1024 * 1024;

test.skipIf(!mayMount)(
  'a full disk refuses large bodies, leaves nothing of them, and takes them again when there is space [needs: root]',
  async () => {
    await using home = await createTemporaryHome();
    const disk = join(home.path, 'disk');
    await mkdir(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', disk]);
    try {
      const ballast = join(disk, 'ballast');
      await writeFile(ballast, Buffer.alloc(3 * MIB));
      const directory = join(disk, 'bodies');
      const preparer = createBodyPreparer({ directory, random: secureRandomBytes });

      await expect(preparer.prepare(new Uint8Array(2 * MIB))).rejects.toMatchObject({
        code: 'journal.not_recorded',
        message: 'There is no space on the disk for a body.',
        fix: expect.stringContaining('Free space'),
        cause: expect.objectContaining({ code: 'ENOSPC' }),
      });
      expect(await filesIn(directory)).toEqual([]);
      expect((await preparer.prepare(new Uint8Array(1000))).bytes).toBe(1000);

      await rm(ballast);
      const body = await preparer.prepare(new Uint8Array(2 * MIB));
      expect(await filesIn(directory)).toEqual([body.commitment]);
    } finally {
      execFileSync('umount', [disk]);
    }
  },
);

async function filesIn(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}
