import { type JsonValue, parseJson } from '@palyra/primitives';
import type { ReadQueries } from '@palyra/storage';
import { newestStoredCheckpoint } from '../cosigned-checkpoint.ts';
import { base64Of, bytesOfBase64, bytesOfHex } from '../format/bytes.ts';
import {
  boolean,
  type Check,
  checkShape,
  choice,
  count,
  list,
  matching,
  object,
  optional,
} from '../format/check-shape.ts';
import { parseCheckpoint } from '../format/checkpoint.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import { HASH_BYTES } from '../format/merkle-tree.ts';
import { JournalError } from '../journal-error.ts';
import { rootVkey } from '../keys/journal-keys.ts';
import type { JournalSchema, LogRow } from '../store/journal-schema.ts';
import type { TreeProofs } from '../tree-proofs.ts';
import { keyStatements, note, vkey } from '../verify/written-log.ts';
import { keysBefore } from '../written-parts.ts';

/** What a log hands to a witness: its newest checkpoint, and the proof that it continues the one the witness saw. */
export interface CosignRequest {
  readonly format: 'palyra.checkpoint/1';
  /** The signed note. */
  readonly note: string;
  /** The verifier key of the root. */
  readonly root_key: string;
  /** In the order of the log. */
  readonly keys: readonly SignedKeyStatement[];
  /** The size that the proof begins at; 0: the witness has seen nothing of this log. */
  readonly old_size: number;
  /** Base64. */
  readonly proof: readonly string[];
}

/** What the witness hands back. */
export interface CosignAnswer {
  readonly format: 'palyra.cosigned/1';
  /** The note with one more signature. */
  readonly note: string;
  /** The verifier key of the witness. */
  readonly witness: string;
  /** The witness had not seen this log before, and believed the root key that came with it. */
  readonly trusted_on_first_use?: boolean;
}

const MAX_REQUEST = 16 * 1024 * 1024;
const hash: Check<string> = matching(/^[A-Za-z0-9+/]{43}=$/, 'a hash in base64');

const request = object<CosignRequest>({
  format: choice('palyra.checkpoint/1'),
  note,
  root_key: vkey,
  keys: keyStatements,
  old_size: count,
  proof: list(hash),
});

const answer = object<CosignAnswer>({
  format: choice('palyra.cosigned/1'),
  note,
  witness: vkey,
  trusted_on_first_use: optional(boolean),
});

/** Throws `journal.invalid_request`. Nothing is verified yet. */
export function parseCosignRequest(text: string | Uint8Array): CosignRequest {
  return checkShape(parsed(text), request, (what) => invalid(`A request to a witness is malformed. ${what}`));
}

/** Throws `journal.invalid_request`. Nothing is verified yet. */
export function parseCosignAnswer(text: string | Uint8Array): CosignAnswer {
  return checkShape(parsed(text), answer, (what) => invalid(`The answer of a witness is malformed. ${what}`));
}

function parsed(text: string | Uint8Array): JsonValue {
  try {
    return parseJson(text, { maxLength: MAX_REQUEST });
  } catch (cause) {
    throw invalid('This is not JSON, or too much of it.', cause);
  }
}

/** The hashes of a proof that was parsed. */
export function proofOf({ proof }: Pick<CosignRequest, 'proof'>): readonly Uint8Array[] {
  return proof.map((text) => {
    const bytes = bytesOfBase64(text);
    if (bytes?.length === HASH_BYTES) return bytes;
    throw invalid('A hash of the proof has a second spelling.');
  });
}

export interface CosignRequestDeps {
  readonly read: ReadQueries<JournalSchema>;
  readonly log: LogRow;
  readonly proofs: Pick<TreeProofs, 'consistency'>;
}

/** Throws `journal.invalid_query` when the log is not that long. */
export async function makeCosignRequest(
  { read, log, proofs }: CosignRequestDeps,
  oldSize: number,
): Promise<CosignRequest> {
  const { note: newest } = await newestStoredCheckpoint(read, log.number);
  const { checkpoint } = parseCheckpoint(newest);
  if (!Number.isSafeInteger(oldSize) || oldSize < 0 || oldSize > checkpoint.size) {
    throw new JournalError('journal.invalid_query', `The log has ${checkpoint.size} entries, fewer than ${oldSize}.`, {
      fix: 'If a witness has really seen more, this is an older copy of the log: see `palyra journal recover`.',
    });
  }
  const proof = oldSize === 0 ? [] : await proofs.consistency(oldSize, checkpoint.size);
  return {
    format: 'palyra.checkpoint/1',
    note: newest,
    root_key: rootVkey(bytesOfHex(log.root_key) ?? new Uint8Array()),
    keys: await keysBefore(read, log, checkpoint.size),
    old_size: oldSize,
    proof: proof.map(base64Of),
  };
}

function invalid(message: string, cause?: unknown): JournalError {
  return new JournalError('journal.invalid_request', message, {
    fix: 'Give the file as `palyra journal checkpoint --request` or `palyra journal cosign` wrote it.',
    ...(cause === undefined ? {} : { cause }),
  });
}
