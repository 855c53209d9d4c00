import type { Notification, ProgramRun } from '@palyra/storage';
import type { Kysely } from 'kysely';
import { hexOf } from '../format/bytes.ts';
import { checkpointText } from '../format/checkpoint.ts';
import type { Signer } from '../format/crypto.ts';
import { encodeFrontier, rootOf } from '../format/merkle-tree.ts';
import { signNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import { readSigner } from '../keys/key-file.ts';
import { nodeSha256 } from '../node-crypto.ts';
import { isCertified, type KeyInUse } from './certified-key.ts';
import { idOf } from './entry-id.ts';
import type { LogRow } from './journal-schema.ts';
import { type HeadMemory, headOf, type LogHead } from './log-head.ts';
import { one, statementsFor } from './statements.ts';

export interface JournalSettings {
  /** The file of the key that signs checkpoints. It is read again when it was replaced, which is how keys rotate. */
  readonly checkpointKeyFile: string;
  /** Of the key that signs an attestation whose anchor is in its own commit; read in the same way. */
  readonly attestationKeyFile: string;
}

export const JOURNAL_CHANNEL = 'journal';

/**
 * Signs what the transaction added, whoever added it. There is no moment at which an acknowledged entry is not under a
 * signature, and when there is no key to sign with, nothing is appended.
 */
export function* sealLogs(
  build: Kysely<never>,
  { settings, memory }: { readonly settings: JournalSettings; readonly memory: HeadMemory },
): ProgramRun<readonly Notification[]> {
  const remembered = memory.get();
  // Usually the transaction only appended to the log that is in use. What else it did is in the rows.
  const heads = remembered === undefined ? yield* unsealed(build) : [remembered];
  const told: Notification[] = [];
  for (const head of heads) {
    if (head.frontier.size === head.log.sealed) continue;
    const sealed = yield* sealHead(head, settings, build);
    if (remembered !== undefined) memory.set(sealed);
    told.push({ channel: JOURNAL_CHANNEL, payload: `${head.log.origin} ${head.frontier.size}` });
  }
  return told;
}

/** For a log that is not going to be appended to any more in this transaction. */
export function* sealRows(build: Kysely<never>, settings: JournalSettings): ProgramRun<void> {
  for (const head of yield* unsealed(build)) yield* sealHead(head, settings, build);
}

function* unsealed(build: Kysely<never>): ProgramRun<readonly LogHead[]> {
  const { rows } = yield { kind: 'statement', sql: statementsFor(build).selectUnsealed, parameters: [] };
  return (rows as unknown as readonly LogRow[]).map(headOf);
}

/** Returns the head as it is then. */
function* sealHead(head: LogHead, { checkpointKeyFile }: JournalSettings, build: Kysely<never>): ProgramRun<LogHead> {
  const { log, frontier, previous } = head;
  const { size } = frontier;
  const statements = statementsFor(build);
  const signer = readSigner(checkpointKeyFile);
  // SECURITY: T-53 — a key that the root has not certified signs nothing, or the log would end in an unverifiable tail.
  if (head.certified !== signer && !(yield* isCertified(keyOf(signer, log), build))) {
    throw new JournalError('journal.key_not_certified', 'The checkpoint key is not one that counts in this log.', {
      fix: 'Bring the identity directory that belongs to this database back, or run `palyra journal recover`.',
    });
  }
  const text = checkpointText({ origin: log.origin, size, root: rootOf(frontier, nodeSha256) });
  const note = signNote(text, log.origin, { signer, sha256: nodeSha256 });
  yield one(statements.insertCheckpoint, [idOf(log.number, size), note]);
  yield one(statements.updateLog, [size, previous, encodeFrontier(frontier), size, log.number]);
  return { ...head, log: { ...log, sealed: size }, certified: signer };
}

function keyOf(signer: Signer, log: LogRow): KeyInUse {
  return { log: log.number, role: 'checkpoint', publicKey: hexOf(signer.publicKey) };
}
