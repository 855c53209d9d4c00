import { attestationIn, type ToolAttestation } from '../format/attestation.ts';
import { hexOf, textOf, utf8 } from '../format/bytes.ts';
import { commitmentOf } from '../format/commitment.ts';
import type { Sha256, VerifyCrypto } from '../format/crypto.ts';
import { type Envelope, isEnvelopeSignedBy, openEnvelope } from '../format/dsse.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { keysValidAt } from '../format/key-statement.ts';
import { parseCanonical } from '../format/parse-canonical.ts';
import { parsePolicySnapshot } from '../format/policy-snapshot.ts';
import { JournalError } from '../journal-error.ts';
import { differenceFromEntry, hasOwnExecution } from './attestation-difference.ts';
import type { Finding } from './report.ts';
import { type Checked, fails, type SignedHead } from './signed-head.ts';

/** A body as a file brings it along: the salt it was committed with, and its bytes. */
export interface SaltedBody {
  readonly salt: Uint8Array;
  readonly bytes: Uint8Array;
}

export interface AttestedEntry {
  readonly seq: number;
  readonly data: EntryData<'attestation'>;
  readonly envelope: SaltedBody;
  readonly executionSalt: Uint8Array;
}

/** Whether the envelope is the entry's, is about the entry's call, and was signed by a key that was valid there. */
export async function checkProvenAttestation(
  { seq, data, envelope, executionSalt }: AttestedEntry,
  head: SignedHead,
  crypto: VerifyCrypto,
): Promise<Checked<ToolAttestation>> {
  if (!isCommitted(data.envelope, envelope, crypto.sha256)) {
    return fails('body_swapped', `The envelope is not the one that entry ${seq} commits to.`, seq);
  }
  const opened = open(envelope.bytes);
  if (opened === undefined) {
    return fails('attestation_malformed', `The envelope of entry ${seq} is not one that Palyra writes.`, seq);
  }
  const { sealed, attestation } = opened;
  if (!(await isSigned(sealed, seq, { head, crypto }))) {
    return fails('attestation_unsigned', `No key that was valid at entry ${seq} signed its attestation.`, seq);
  }
  const differing = differenceFromEntry(attestation, { origin: head.origin, data });
  if (differing !== undefined) {
    return fails('attestation_moved', `The attestation of entry ${seq} has another ${differing} than the entry.`, seq);
  }
  if (!hasOwnExecution(attestation, executionSalt, crypto.sha256)) {
    return fails('body_swapped', `The execution record of entry ${seq} is not the one that was committed to.`, seq);
  }
  return { kind: 'holds', value: attestation };
}

async function isSigned(
  sealed: Envelope,
  seq: number,
  { head, crypto }: { readonly head: SignedHead; readonly crypto: VerifyCrypto },
): Promise<boolean> {
  // The log had at least this entry in it when the attestation became part of it.
  for (const { publicKey } of keysValidAt(head.keys, 'attestation', seq + 1)) {
    if (await isEnvelopeSignedBy(sealed, publicKey, crypto)) return true;
  }
  return false;
}

function open(bytes: Uint8Array): { readonly sealed: Envelope; readonly attestation: ToolAttestation } | undefined {
  try {
    const sealed = openEnvelope(textOf(bytes) ?? '');
    return { sealed, attestation: attestationIn(sealed) };
  } catch (thrown) {
    if (thrown instanceof JournalError) return undefined;
    throw thrown;
  }
}

export function isCommitted(commitment: string, { salt, bytes }: SaltedBody, sha256: Sha256): boolean {
  try {
    return hexOf(commitmentOf(salt, bytes, sha256)) === commitment;
  } catch (thrown) {
    if (thrown instanceof JournalError) return false;
    throw thrown;
  }
}

/** What is wrong with the text of a snapshot that should have this digest. */
export function faultInSnapshot(digest: string, text: string | undefined, sha256: Sha256): Finding | undefined {
  const why = `The policy snapshot ${digest} is missing, or is not the one with its digest.`;
  if (text === undefined || hexOf(sha256(utf8(text))) !== digest) return { code: 'snapshot_wrong', why };
  try {
    parsePolicySnapshot(parseCanonical(text));
    return undefined;
  } catch (thrown) {
    if (thrown instanceof JournalError) return { code: 'snapshot_wrong', why: thrown.message };
    throw thrown;
  }
}
