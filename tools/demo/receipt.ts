import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type JournalSchema, makeBundle, nodeCrypto, openJournalKeys, verifyHome } from '@palyra/journal';
import { verifyBundle } from '@palyra/journal/verify';
import { openForReading } from '@palyra/storage';
import { attestSampleCall, bodyDirectoryOf, createSampleCalls, keyDirectoryOf, openJournalHome } from '@palyra/testkit';
import { holds, type Stage } from './stage.ts';

/** One call from proposal to signed receipt; then the receipt is checked alone, and the record after somebody edited it. */
export async function showReceipt({ home, say }: Stage): Promise<void> {
  const directory = join(home, 'receipts');
  await mkdir(directory, { mode: 0o700 });
  const place = { directory, location: { kind: 'sqlite', path: join(directory, 'palyra.db') } } as const;
  const bodyDirectory = bodyDirectoryOf(place);
  const callId = await recordCall(place);
  const pins = { rootKey: openJournalKeys(keyDirectoryOf(place)).root().publicKey, witnesses: [], checkpoints: [] };

  const database = await openForReading<JournalSchema>({ location: place.location, lockTimeoutMs: 5_000 });
  try {
    const bundle = await makeBundle({ read: database.read, bodyDirectory }, callId, { bodies: false });
    const receipt = await verifyBundle(bundle, { crypto: nodeCrypto, pins });
    say(
      `the receipt of the call is one file of ${bundle.length} bytes; checked alone, with the public key: ${receipt.kind}`,
    );
    holds(receipt.kind === 'sound' && receipt.established.level === 'signed', 'a receipt verifies alone');

    const whole = await verifyHome({ database, bodyDirectory, pins });
    holds(whole.kind === 'sound', 'the record verifies');

    turnRefusalIntoSuccess(place.location.path);
    const edited = await verifyHome({ database, bodyDirectory, pins });
    holds(edited.kind === 'broken', 'an edited record is found out');
    if (edited.kind === 'broken')
      say(`after one field was edited: broken at entry ${edited.finding.seq}, ${edited.finding.code}`);
  } finally {
    await database.close();
  }
}

type Place = Parameters<typeof openJournalHome>[0];

async function recordCall(place: Place): Promise<string> {
  await using home = await openJournalHome(place);
  const calls = createSampleCalls();
  const { facts } = await attestSampleCall(home.journal, calls, { input: 'git status', output: 'nothing to commit\n' });
  await attestSampleCall(home.journal, calls, { input: 'cat ~/.ssh/id_ed25519' });
  return facts.call_id;
}

/** What somebody would want who had run what was refused. */
function turnRefusalIntoSuccess(path: string): void {
  const database = new DatabaseSync(path);
  database.exec(
    `update journal_entries set data = replace(data, '"refused"', '"completed"') where outcome = 'refused'`,
  );
  database.close();
}
