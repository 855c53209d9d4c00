import { finishPayload, PAYLOAD_TYPE } from '../format/attestation.ts';
import { hexOf, utf8 } from '../format/bytes.ts';
import { commitmentOf } from '../format/commitment.ts';
import type { Signer } from '../format/crypto.ts';
import { signEnvelope } from '../format/dsse.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import { nodeSha256 } from '../node-crypto.ts';
import type { EntryFields, PreparedBody, PreparedEntry } from './prepared-entry.ts';

/**
 * An attestation that names the place and the hash of an intent of the same commit: signed here, where they become known.
 * All else of it was checked and spelled by whoever asked for it.
 */
export interface LateAttestation {
  /** Its anchor and its envelope are not those yet. */
  readonly entry: PreparedEntry;
  /** Which of the entries of the commit is the intent. */
  readonly anchorAt: number;
  /** The payload behind its anchor. */
  readonly behind: string;
  readonly envelopeSalt: Uint8Array;
}

export interface LateAnchor {
  readonly seq: number;
  /** Hexadecimal. */
  readonly hash: string;
}

/** What goes into the log, behind the entries of its commit. */
export function finishAttestation(
  { entry, behind, envelopeSalt }: LateAttestation,
  { seq, hash }: LateAnchor,
  signer: Signer,
): PreparedEntry {
  const payload = finishPayload(behind, { kind: 'intent', seq, hash });
  const content = utf8(signEnvelope(PAYLOAD_TYPE, payload, { signer, sha256: nodeSha256 }));
  const commitment = hexOf(commitmentOf(envelopeSalt, content, nodeSha256));
  const { length: bytes } = content;
  const envelope: PreparedBody = { commitment, salt: envelopeSalt, bytes, totalBytes: bytes, content };
  const [time, actor, kind, version, text, ...index] = entry.fields;
  const before = JSON.parse(text) as EntryData<'attestation'>;
  // In the order in which they stand there already, which is that of canonical JSON.
  const data = JSON.stringify({ ...before, anchor: hash, anchor_seq: seq, envelope: commitment });
  const fields: EntryFields = [time, actor, kind, version, data, ...index];
  const others = entry.bodies.filter((body) => body.commitment !== before.envelope);
  return { fields, bodies: [envelope, ...others] };
}
