import { type JournalSchema, openJournalKeys, verifyHome } from '@palyra/journal';
import { openForReading } from '@palyra/storage';
import { bodyDirectoryOf, type JournalPlace, keyDirectoryOf } from './journal-home.ts';

/** What is wrong with the logs of a home, as somebody finds who pinned its root key; empty when nothing is. */
export async function journalFaults(place: JournalPlace): Promise<readonly string[]> {
  const database = await openForReading<JournalSchema>({ location: place.location, lockTimeoutMs: 5_000 });
  try {
    const report = await verifyHome({
      database,
      bodyDirectory: bodyDirectoryOf(place),
      pins: { rootKey: openJournalKeys(keyDirectoryOf(place)).root().publicKey, witnesses: [], checkpoints: [] },
    });
    if (report.kind === 'broken') return [`${report.finding.code} at ${report.finding.seq}: ${report.finding.why}`];
    return report.established.level === 'signed' ? [] : [`only ${report.established.level}`];
  } finally {
    await database.close();
  }
}
