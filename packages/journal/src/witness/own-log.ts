import type { ReadQueries } from '@palyra/storage';
import { hexOf } from '../format/bytes.ts';
import { JournalError } from '../journal-error.ts';
import { openJournalKeys } from '../keys/journal-keys.ts';
import type { JournalSchema } from '../store/journal-schema.ts';

export interface WitnessedLog {
  readonly origin: string;
  /** 32 bytes. */
  readonly rootKey: Uint8Array;
  /** 32 bytes: of the witness. */
  readonly witnessKey: Uint8Array;
}

export interface WitnessHome {
  /** Absent: this home has no database. */
  readonly read: ReadQueries<JournalSchema> | undefined;
  readonly keyDirectory: string;
}

/**
 * SECURITY: T-53 — a witness in the home of the log is restored together with it, and remembers nothing that the log
 * forgot. Throws `journal.own_log`.
 */
export async function refuseOwnLog({ origin, rootKey, witnessKey }: WitnessedLog, home: WitnessHome): Promise<void> {
  const [root, witness] = [hexOf(rootKey), hexOf(witnessKey)];
  const held = filesIn(home.keyDirectory);
  if (held.has(root)) throw ownLog('The root key of this log is in this home.');
  if (held.has(witness)) throw ownLog('The key of this witness is a key of a log in this home.');
  if (home.read === undefined) return;
  const logs = await home.read.selectFrom('journal_logs').select(['origin', 'root_key']).execute();
  if (logs.some((log) => log.origin === origin || log.root_key === root)) throw ownLog('This log is in this home.');
  if (await isKeyOfLog(home.read, witness)) throw ownLog('The key of this witness is a key of a log in this home.');
}

/** Whether a log in this database signs, or was ever to sign, with this key. */
export async function isKeyOfLog(read: ReadQueries<JournalSchema>, publicKey: string): Promise<boolean> {
  const key = await read
    .selectFrom('journal_keys')
    .select('seq')
    .where('public_key', '=', publicKey)
    .executeTakeFirst();
  if (key !== undefined) return true;
  const root = await read
    .selectFrom('journal_logs')
    .select('number')
    .where('root_key', '=', publicKey)
    .executeTakeFirst();
  return root !== undefined;
}

function filesIn(directory: string): ReadonlySet<string> {
  const keys = openJournalKeys(directory);
  const readers = [() => keys.root(), () => keys.of('checkpoint'), () => keys.of('attestation')];
  return new Set(
    readers.flatMap((read) => {
      try {
        return [hexOf(read().publicKey)];
      } catch {
        // The root key may be kept elsewhere, and a home need not have a log at all.
        return [];
      }
    }),
  );
}

function ownLog(why: string): JournalError {
  return new JournalError('journal.own_log', `A home cannot witness its own log. ${why}`, {
    fix: 'Run this on another device, with a home and a --store of its own.',
  });
}
