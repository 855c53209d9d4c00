import { canonicalJson } from '@palyra/primitives';
import type { ReadQueries } from '@palyra/storage';
import { equalBytes, hexOf } from '../format/bytes.ts';
import { findCosignature, parseCheckpoint } from '../format/checkpoint.ts';
import type { Actor } from '../format/entry.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { type NoteKey, type NoteSignature, parseVkey, type SignedNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import { nodeCrypto, nodeSha256 } from '../node-crypto.ts';
import type { Journal } from '../open-journal.ts';
import { within } from '../store/entry-id.ts';
import { type JournalSchema, type LogRow, ONLY_RARE } from '../store/journal-schema.ts';
import type { TreeProofs } from '../tree-proofs.ts';
import { parseCosignAnswer } from './cosign-request.ts';
import { isKeyOfLog } from './own-log.ts';

export interface RecordCosignatureDeps {
  readonly read: ReadQueries<JournalSchema>;
  readonly log: LogRow;
  readonly proofs: Pick<TreeProofs, 'root'>;
  readonly append: Journal['appendOwn'];
}

export interface RecordedCosignature {
  /** `known`: the log has this very cosignature already. */
  readonly kind: 'recorded' | 'known';
  readonly seq: number;
  readonly size: number;
  /** Seconds since the Unix epoch. */
  readonly time: number;
  readonly witness: string;
}

/**
 * Puts a witness's answer into the log, so that verifiers find it there. Throws `journal.invalid_note` for a checkpoint
 * that is not of this log, `journal.own_log` for a witness that is the log itself.
 */
export async function recordCosignature(
  text: string | Uint8Array,
  actor: Actor,
  { read, log, proofs, append }: RecordCosignatureDeps,
): Promise<RecordedCosignature> {
  const answer = parseCosignAnswer(text);
  const { note, checkpoint } = parseCheckpoint(answer.note);
  const witness = parseVkey(answer.witness, nodeSha256);
  const { size, root, origin } = checkpoint;
  if (origin !== log.origin) throw invalid('The witness answered about another log.');
  if (size > log.size) throw invalid(`The witness saw ${size} entries, and this log has ${log.size}.`);
  if (!equalBytes(root, await proofs.root(size))) throw invalid(`The witness saw another log at size ${size}.`);
  // SECURITY: T-53 — the log's own keys would make it its own witness.
  if (await isKeyOfLog(read, hexOf(witness.publicKey))) {
    throw new JournalError('journal.own_log', 'The witness signed with a key of this log.', {
      fix: 'A witness is another device with a key of its own.',
    });
  }
  const data = await cosignatureData(note, witness, { size, root: hexOf(root) });
  const told = { size, time: data.time, witness: witness.name };
  const known = await read
    .selectFrom('journal_entries')
    .select('seq')
    .where('kind', '=', 'checkpoint.cosigned')
    .where(ONLY_RARE)
    .where(within(log.number))
    .where('data', '=', canonicalJson({ ...data }))
    .executeTakeFirst();
  if (known !== undefined) return { kind: 'known', seq: known.seq, ...told };
  const outcome = await append(actor, [{ kind: 'checkpoint.cosigned', data }]);
  if (outcome.kind === 'conflict') throw new JournalError('journal.not_recorded', 'The cosignature was not recorded.');
  return { kind: 'recorded', seq: outcome.entries[0]?.seq as number, ...told };
}

const TIME_BYTES = 8;

async function cosignatureData(
  note: SignedNote,
  witness: NoteKey,
  { size, root }: { readonly size: number; readonly root: string },
): Promise<EntryData<'checkpoint.cosigned'>> {
  const { line, time } = await findLine(note, witness);
  return {
    size,
    root,
    witness: witness.name,
    witness_key: hexOf(witness.publicKey),
    time,
    signature: hexOf(line.signature.slice(TIME_BYTES)),
  };
}

/** One line at a time: a note may carry others of the same name that do not hold. */
async function findLine(
  note: SignedNote,
  witness: NoteKey,
): Promise<{ readonly line: NoteSignature; readonly time: number }> {
  for (const line of note.signatures) {
    const found = await findCosignature({ ...note, signatures: [line] }, witness, nodeCrypto);
    if (found !== undefined) return { line, time: found.time };
  }
  throw invalid('The note does not carry a cosignature of the witness.');
}

function invalid(message: string): JournalError {
  return new JournalError('journal.invalid_note', message, {
    fix: 'Check that the answer is for a request of this log. If it is, run `palyra verify` here.',
  });
}
