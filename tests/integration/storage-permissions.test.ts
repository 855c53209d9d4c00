import { chmod, chown, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type OrdinaryUserOutcome,
  openLedger,
  ordinaryUser,
  putAccount,
  removeOrdinaryUser,
  runAsOrdinaryUser,
} from '@palyra/testkit';
import { afterAll, expect, test } from 'vitest';
import { temporaryLedger } from './temporary-ledger.ts';

afterAll(removeOrdinaryUser);

test('the database and its journal files can be opened by their owner only', async () => {
  await using place = await temporaryLedger();
  const ledger = await openLedger(place);
  await putAccount(ledger, 'alice', 1);
  for (const suffix of ['', '-wal', '-shm']) {
    const { mode } = await stat(`${place.location.path}${suffix}`);
    expect({ suffix, mode: (mode & 0o777).toString(8) }).toEqual({ suffix, mode: '600' });
  }
  await ledger.close();
});

test('a file that is not a database is refused and left as it was', async () => {
  await using place = await temporaryLedger();
  await writeFile(place.location.path, 'this is a text and not a database\n'.repeat(200), { mode: 0o600 });
  await expect(openLedger(place)).rejects.toMatchObject({ code: 'storage.corrupt' });
  expect((await stat(place.location.path)).size).toBe(6800);
});

test('a missing directory is a typed error', async () => {
  await using place = await temporaryLedger();
  const path = join(place.directory, 'missing', 'ledger.db');
  await expect(openLedger({ location: { kind: 'sqlite', path } })).rejects.toMatchObject({
    code: 'storage.permission_denied',
    message: 'The database file cannot be opened (ENOENT).',
  });
});

test.each([
  { what: 'an own directory', prepare: () => Promise.resolve(), expected: 'written' },
  {
    what: 'a directory that cannot be written',
    prepare: (home: string) => chmod(home, 0o500),
    expected: 'storage.permission_denied',
  },
  {
    what: 'a directory that cannot be entered',
    prepare: (home: string) => chmod(home, 0o600),
    expected: 'storage.permission_denied',
  },
  {
    what: 'a file that cannot be written',
    prepare: readOnlyFile,
    expected: 'storage.permission_denied',
  },
  {
    what: 'a directory in place of the file',
    prepare: (home: string) => mkdir(join(home, 'ledger.db')),
    expected: 'storage.permission_denied',
  },
  { what: 'a symbolic link in place of the file', prepare: linkElsewhere, expected: 'storage.permission_denied' },
])('an ordinary user with $what: $expected', async ({ prepare, expected }) => {
  expect(await openAsOrdinaryUser(prepare)).toMatchObject({ stdout: `${expected}\n`, stderr: '' });
});

const isRoot = process.geteuid?.() === 0;

test.skipIf(!isRoot)('an ordinary user does not get a file of somebody else [needs: root]', async () => {
  const foreign = (home: string) => writeFile(join(home, 'ledger.db'), '', { mode: 0o600 });
  expect(await openAsOrdinaryUser(foreign)).toMatchObject({ stdout: 'storage.unsafe_permissions\n' });
});

type Prepare = (home: string, uid: number) => Promise<unknown>;

async function openAsOrdinaryUser(prepare: Prepare): Promise<OrdinaryUserOutcome> {
  await using place = await temporaryLedger();
  const { uid } = await ordinaryUser();
  await chmod(place.directory, 0o711);
  const home = join(place.directory, 'home');
  await mkdir(home, { mode: 0o700 });
  if (isRoot) await chown(home, uid, uid);
  await prepare(home, uid);
  const script = 'packages/testkit/src/storage-contract/open-ledger-probe.ts';
  const outcome = await runAsOrdinaryUser({ script, args: [join(home, 'ledger.db')] });
  await chmod(home, 0o700);
  return outcome;
}

async function readOnlyFile(home: string, uid: number): Promise<void> {
  const path = join(home, 'ledger.db');
  await writeFile(path, '', { mode: 0o400 });
  if (isRoot) await chown(path, uid, uid);
}

async function linkElsewhere(home: string): Promise<void> {
  await symlink(join(home, 'elsewhere.db'), join(home, 'ledger.db'));
}
