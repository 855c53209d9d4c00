import { attestationIn, type ToolAttestation } from '../format/attestation.ts';
import { bytesOfHex, equalBytes, textOf } from '../format/bytes.ts';
import type { VerifyCrypto } from '../format/crypto.ts';
import { type Envelope, isEnvelopeSignedBy, openEnvelope } from '../format/dsse.ts';
import type { EntryData } from '../format/entry-kinds.ts';
import type { KeyValidity } from '../format/key-statement.ts';
import { JournalError } from '../journal-error.ts';
import { differenceFromEntry, hasOwnExecution } from './attestation-difference.ts';
import type { BodyChecks } from './check-bodies.ts';
import type { CallTrace } from './open-calls.ts';
import type { Finding, FindingCode } from './report.ts';

export interface AttestationPlace {
  readonly origin: string;
  readonly seq: number;
  readonly data: EntryData<'attestation'>;
  /** `unseen`: the call began before what is being verified. */
  readonly call: CallTrace | 'unseen';
  /** Those that counted when the log held this entry. */
  readonly keys: readonly KeyValidity[];
  used(key: KeyValidity): void;
  /** The envelope is not here, so nothing was checked. */
  skipped(): void;
}

interface AttestationDeps {
  readonly bodies: BodyChecks;
  readonly crypto: VerifyCrypto;
}

/** Whether the entry points at a decision or an intent of its own call. */
export function checkAnchor({ seq, data, call }: AttestationPlace): Finding | undefined {
  if (call === 'unseen') return undefined;
  const hash = bytesOfHex(data.anchor) ?? new Uint8Array();
  // SECURITY: T-31 — the anchor ties what is signed to one place in this log; elsewhere it is about nothing.
  if (call.anchors.some((anchor) => anchor.seq === data.anchor_seq && equalBytes(anchor.hash, hash))) return undefined;
  return broken(
    'attestation_moved',
    seq,
    `points at entry ${data.anchor_seq}, which is no decision or intent of its call`,
  );
}

/** Whether what is signed is about this call, at this place, and by a key that counted here. */
export async function checkAttestation(
  place: AttestationPlace,
  { bodies, crypto }: AttestationDeps,
): Promise<Finding | undefined> {
  const { seq, data } = place;
  const [envelopeBody, execution] = await Promise.all([
    bodies.read({ commitment: data.envelope }, seq),
    bodies.read({ commitment: data.execution }, seq),
  ]);
  if (envelopeBody.kind === 'broken') return envelopeBody.finding;
  if (execution.kind === 'broken') return execution.finding;
  if (envelopeBody.kind === 'absent') {
    place.skipped();
    return undefined;
  }

  const opened = open(envelopeBody.bytes);
  if (typeof opened === 'string') return broken('attestation_malformed', seq, `is not one: ${opened}`);
  const { envelope, attestation } = opened;
  const differing = differenceIn(attestation, place);
  if (differing !== undefined) {
    return broken('attestation_moved', seq, `has another ${differing} than the log says about its call`);
  }
  if (execution.kind === 'sound' && !hasOwnExecution(attestation, execution.salt, crypto.sha256)) {
    return broken('attestation_malformed', seq, 'has another execution digest than follows from it');
  }
  // SECURITY: T-31 — a key that was retired before this place, or certified after it, signs nothing here.
  for (const key of place.keys) {
    if (!(await isEnvelopeSignedBy(envelope, key.publicKey, crypto))) continue;
    place.used(key);
    return undefined;
  }
  return broken('attestation_unsigned', seq, 'is not signed by a key that counted at its place');
}

function open(bytes: Uint8Array): { readonly envelope: Envelope; readonly attestation: ToolAttestation } | string {
  try {
    const envelope = openEnvelope(textOf(bytes) ?? '');
    return { envelope, attestation: attestationIn(envelope) };
  } catch (error) {
    if (error instanceof JournalError) return error.message;
    throw error;
  }
}

/** The first thing that the signed attestation and the chain say differently. */
function differenceIn(attestation: ToolAttestation, { origin, data, call }: AttestationPlace): string | undefined {
  const differing = differenceFromEntry(attestation, { origin, data });
  if (differing !== undefined) return differing;
  return call === 'unseen' ? undefined : differenceFromCall(attestation, call);
}

function differenceFromCall(
  { anchor, input_sha256, output_sha256, policy_snapshot_sha256, outcome }: ToolAttestation,
  call: CallTrace,
): string | undefined {
  const found = call.anchors.find(({ seq }) => seq === anchor.seq);
  if (found?.kind !== anchor.kind) return 'anchor';
  if (found.snapshot !== policy_snapshot_sha256) return 'policy_snapshot_sha256';
  if (call.input !== undefined && call.input !== input_sha256) return 'input_sha256';
  if (call.outcome === undefined) return undefined;
  if (call.outcome !== outcome.kind) return 'outcome';
  return call.output === output_sha256 ? undefined : 'output_sha256';
}

function broken(code: FindingCode, seq: number, what: string): Finding {
  return { code, seq, why: `The attestation at entry ${seq} ${what}.` };
}
