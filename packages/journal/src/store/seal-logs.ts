import type { Notification, ProgramRun } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { checkpointText } from '../format/checkpoint.ts';
import type { Signer } from '../format/crypto.ts';
import { decodeFrontier, rootOf } from '../format/merkle-tree.ts';
import { signNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import { readSigner } from '../keys/key-file.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { isCertified } from './certified-key.ts';
import type { LogRow } from './journal-schema.ts';
import { one, statementsFor } from './statements.ts';

export interface JournalSettings {
  /** The file of the key that signs checkpoints. It is read again when it was replaced, which is how keys rotate. */
  readonly checkpointKeyFile: string;
}

export const JOURNAL_CHANNEL = 'journal';

/**
 * Signs what the transaction added, whoever added it. There is no moment at which an acknowledged entry is not under a
 * signature, and when there is no key to sign with, nothing is appended.
 */
export function* sealLogs(
  build: Kysely<never>,
  { checkpointKeyFile }: JournalSettings,
): ProgramRun<readonly Notification[]> {
  const statements = statementsFor(build);
  const { rows } = yield { kind: 'statement', sql: statements.selectUnsealed, parameters: [] };
  const logs = rows as unknown as readonly LogRow[];
  if (logs.length === 0) return [];
  const signer = readSigner(checkpointKeyFile);
  for (const log of logs) {
    // SECURITY: T-53 — a key that the root has not certified signs nothing, or the log would end in an unverifiable tail.
    if (!(yield* isCertified(build, log, signer.publicKey))) {
      throw new JournalError('journal.key_not_certified', 'The checkpoint key is not one of this log.');
    }
    yield one(statements.insertCheckpoint, [log.number, log.size, checkpointOf(log, signer)]);
    yield one(statements.updateSealed, [log.size, log.number]);
  }
  return logs.map(({ origin, size }) => ({ channel: JOURNAL_CHANNEL, payload: `${origin} ${size}` }));
}

function checkpointOf({ origin, size, frontier: bytes }: LogRow, signer: Signer): string {
  const frontier = decodeFrontier(size, bytes);
  if (frontier === undefined) throw new JournalError('journal.not_recorded', 'The head of the log is damaged.');
  const root = rootOf(frontier, nodeSha256);
  return signNote(checkpointText({ origin, size, root }), origin, { signer, sha256: nodeSha256 });
}
