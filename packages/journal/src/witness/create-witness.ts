import { type Clock, canonicalJson, visibleText } from '@palyra/primitives';
import { equalBytes, hexOf } from '../format/bytes.ts';
import { type Checkpoint, cosign, parseCheckpoint } from '../format/checkpoint.ts';
import type { Signer } from '../format/crypto.ts';
import { isSignedByRoot, keysValidAt, type SignedKeyStatement, validityBefore } from '../format/key-statement.ts';
import { provesConsistency } from '../format/merkle-proof.ts';
import { formatVkey, isSignedBy, parseVkey, type SignedNote } from '../format/signed-note.ts';
import { JournalError } from '../journal-error.ts';
import { nodeCrypto, nodeSha256 } from '../node-crypto.ts';
import { type CosignAnswer, type CosignRequest, proofOf } from './cosign-request.ts';
import type { HeldMemory, Remembered, WitnessStore } from './witness-store.ts';

export type CosignOutcome =
  | {
      readonly kind: 'cosigned';
      readonly answer: CosignAnswer;
      readonly origin: string;
      readonly size: number;
      /** Seconds since the Unix epoch. */
      readonly time: number;
      /** Why the root key was believed. */
      readonly rootKey: 'remembered' | 'pinned' | 'first use';
    }
  /** The proof does not begin where this witness stopped; a request that does will be answered. */
  | { readonly kind: 'needs proof'; readonly from: number };

/**
 * Remembers the largest checkpoint of each log it saw and cosigns only what continues it. So whoever holds a log, its
 * keys and its database can no longer show a shorter or another one to those who ask for the cosignature.
 */
export interface Witness {
  /**
   * Throws `journal.not_consistent` for a log that does not continue the one seen before, and keeps both checkpoints;
   * `journal.key_not_certified` and `journal.invalid_note` for a request that proves nothing.
   */
  cosign(request: CosignRequest): Promise<CosignOutcome>;
}

export interface WitnessDeps {
  /** As its verifier key has it. */
  readonly name: string;
  readonly signer: Signer;
  readonly store: WitnessStore;
  readonly clock: Clock;
  /** 32 bytes: the root key that the witness got from elsewhere. */
  readonly pinnedRootKey?: Uint8Array;
}

export function createWitness(deps: WitnessDeps): Witness {
  return {
    async cosign(request) {
      const presented = await checkRequest(request);
      return deps.store.holding(presented.checkpoint.origin, async (memory) => {
        const rootKey = believeRootKey(presented, memory.remembered, deps.pinnedRootKey);
        const from = memory.remembered === undefined ? 0 : continued(presented, memory, memory.remembered);
        if (from !== undefined && from !== request.old_size) return { kind: 'needs proof', from };
        // SECURITY: T-53 — remembered before anyone has the cosignature, or a crash in between lets a fork be signed.
        memory.remember({
          origin: presented.checkpoint.origin,
          root_key: hexOf(presented.rootKey),
          note: request.note,
          keys: request.keys,
        });
        return { ...cosigned(presented, request.note, { ...deps, rootKey }), rootKey };
      });
    },
  };
}

interface Presented {
  readonly note: SignedNote;
  readonly checkpoint: Checkpoint;
  readonly rootKey: Uint8Array;
  readonly request: CosignRequest;
}

/** What the request says holds by its own signatures; whether it is the log we know is another question. */
async function checkRequest(request: CosignRequest): Promise<Presented> {
  const { note, checkpoint } = parseCheckpoint(request.note);
  const { publicKey: rootKey } = parseVkey(request.root_key, nodeSha256);
  for (const statement of request.keys) {
    if (statement.origin !== checkpoint.origin || !(await isSignedByRoot(statement, rootKey, nodeCrypto))) {
      throw notCertified('A key of this log is not certified by its root key.');
    }
  }
  const keys = keysValidAt(validityBefore(checkpoint.size, request.keys), 'checkpoint', checkpoint.size);
  for (const { publicKey } of keys) {
    if (await isSignedBy(note, { name: checkpoint.origin, type: 1, publicKey }, nodeCrypto)) {
      return { note, checkpoint, rootKey, request };
    }
  }
  throw notCertified('The checkpoint is not signed by a key that was valid at its size.');
}

function believeRootKey(
  { rootKey, checkpoint }: Presented,
  remembered: Remembered | undefined,
  pinned: Uint8Array | undefined,
): 'remembered' | 'pinned' | 'first use' {
  if (pinned !== undefined && !equalBytes(pinned, rootKey)) {
    throw notCertified('The log has another root key than the one that was given.');
  }
  if (remembered === undefined) return pinned === undefined ? 'first use' : 'pinned';
  // SECURITY: T-53 — with another root key anybody could continue a log of this name.
  if (remembered.root_key !== hexOf(rootKey)) {
    throw notConsistent(`${shown(checkpoint.origin)} has another root key than the log this witness knows.`);
  }
  return 'remembered';
}

/**
 * Where a proof must begin that was not given; undefined when the log continues what is remembered. Throws
 * `journal.not_consistent` when it cannot.
 */
function continued(presented: Presented, memory: HeldMemory, remembered: Remembered): number | undefined {
  const { checkpoint, request } = presented;
  const { checkpoint: known } = parseCheckpoint(remembered.note);
  const refuse = (why: string): never => {
    memory.keepEvidence({ remembered, presented: request });
    throw notConsistent(
      `${shown(checkpoint.origin)} at size ${checkpoint.size} does not continue what this witness saw at size ${known.size}: ${why}`,
    );
  };
  if (checkpoint.size < known.size) refuse('an older copy was put back, or an old request was sent again.');
  // SECURITY: T-53 — a retirement that was shown once cannot be left out later to bring an old key back.
  if (!beginsWith(request.keys, remembered.keys)) refuse('its keys have another history.');
  if (checkpoint.size === known.size) {
    if (!equalBytes(checkpoint.root, known.root)) refuse('the same size with another root is a fork.');
    return undefined;
  }
  if (request.old_size !== known.size) return known.size;
  const claim = {
    oldSize: known.size,
    oldRoot: known.root,
    newSize: checkpoint.size,
    newRoot: checkpoint.root,
    proof: proofOf(request),
  };
  if (!provesConsistency(claim, nodeSha256)) refuse('the proof does not hold, so this may be a fork.');
  return undefined;
}

function beginsWith(statements: readonly SignedKeyStatement[], first: readonly SignedKeyStatement[]): boolean {
  return first.every((statement, at) => {
    const found = statements[at];
    return found !== undefined && canonicalJson({ ...found }) === canonicalJson({ ...statement });
  });
}

function cosigned(
  { note, checkpoint }: Presented,
  text: string,
  { name, signer, clock, rootKey }: WitnessDeps & { readonly rootKey: 'remembered' | 'pinned' | 'first use' },
): Omit<Extract<CosignOutcome, { kind: 'cosigned' }>, 'rootKey'> {
  const time = Math.floor(clock.now() / 1000);
  const line = cosign(note, { name, time, signer, sha256: nodeSha256 });
  const answer: CosignAnswer = {
    format: 'palyra.cosigned/1',
    note: `${text}${line}`,
    witness: formatVkey({ name, type: 4, publicKey: signer.publicKey }, nodeSha256),
    ...(rootKey === 'first use' ? { trusted_on_first_use: true } : {}),
  };
  return { kind: 'cosigned', answer, origin: checkpoint.origin, size: checkpoint.size, time };
}

function shown(origin: string): string {
  return `The log ${visibleText(origin, { maxCharacters: 128 })}`;
}

function notCertified(message: string): JournalError {
  return new JournalError('journal.key_not_certified', message, {
    fix: 'Ask the holder of the log for a new request, and for the root key on another way.',
  });
}

function notConsistent(message: string): JournalError {
  return new JournalError('journal.not_consistent', message, {
    fix: 'Ask the holder of the log. After a restored backup, `palyra journal recover` there begins a log of its own name.',
  });
}
