// T-40: another user of the machine, or a tool of a Tier B call, reads or writes the database behind palyrad's back.
import { chmod, chown, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTemporaryHome, openLedger, putAccount } from '@palyra/testkit';
import { expect, test } from 'vitest';

test.each(['640', '644', '660', '602', '666'])('a database file of mode %s is refused', async (mode) => {
  await using home = await createTemporaryHome();
  const path = join(home.path, 'palyra.db');
  const ledger = await openLedger({ location: { kind: 'sqlite', path } });
  await putAccount(ledger, 'grant', 1);
  await ledger.close();

  await chmod(path, Number.parseInt(mode, 8));
  await expect(openLedger({ location: { kind: 'sqlite', path } })).rejects.toMatchObject({
    code: 'storage.unsafe_permissions',
    fix: expect.stringContaining('chmod 600'),
  });
});

const isRoot = process.geteuid?.() === 0;

test.skipIf(!isRoot)('a database file planted by another user is refused [needs: root]', async () => {
  await using home = await createTemporaryHome();
  const path = join(home.path, 'palyra.db');
  await writeFile(path, '', { mode: 0o600 });
  await chown(path, 12_345, 12_345);
  await expect(openLedger({ location: { kind: 'sqlite', path } })).rejects.toMatchObject({
    code: 'storage.unsafe_permissions',
  });
});
