import type { IdSource } from '@palyra/primitives';
import type { AppendOptions, Draft } from './append-entries.ts';
import { signAttestation, type ToolAttestation } from './format/attestation.ts';
import type { Signer } from './format/crypto.ts';
import type { Actor } from './format/entry.ts';
import { executionRecordOf } from './format/execution-record.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { Journal } from './open-journal.ts';
import type { StoredBodies } from './stored-bodies.ts';

/** What is known of a call when it is over, or was refused. */
export interface AttestedCall extends Pick<AppendOptions, 'steps' | 'notifications'> {
  readonly facts: Omit<ToolAttestation, 'attestation_id' | 'origin' | 'execution_sha256'>;
  /** The entries that say the same in the chain, such as the outcome: appended with the attestation, before it. */
  readonly drafts: readonly Draft[];
}

export type AttestOutcome =
  | {
      readonly kind: 'attested';
      readonly attestation_id: string;
      readonly execution_sha256: string;
      /** With it, the holder of the attestation can recompute `execution_sha256`. */
      readonly execution_salt: Uint8Array;
      /** Where the attestation stands in the log. */
      readonly journal_seq: number;
    }
  | { readonly kind: 'conflict'; readonly step: number };

export interface AttestDeps {
  readonly append: Journal['append'];
  readonly bodies: Pick<StoredBodies, 'prepare'>;
  readonly origin: string;
  readonly ids: IdSource;
  /** Asked each time: the key may have been rotated. */
  signer(): Signer;
}

/** Outcome and attestation are one commit: neither is ever there without the other. */
export async function attestCall(
  actor: Actor,
  { facts, drafts, ...options }: AttestedCall,
  { append, bodies, origin, ids, signer }: AttestDeps,
): Promise<AttestOutcome> {
  const identified = { ...facts, origin, attestation_id: ids.newId('attestation') };
  const execution = await bodies.prepare(executionRecordOf(identified));
  const attestation: ToolAttestation = { ...identified, execution_sha256: execution.commitment };
  const envelope = await bodies.prepare(signAttestation(attestation, signer(), nodeSha256));
  const { attestation_id, run_id, session_id, call_id, principal, tool, anchor } = attestation;
  const entry: Draft = {
    kind: 'attestation',
    data: {
      run_id,
      session_id,
      call_id,
      principal,
      tool,
      attestation_id,
      envelope,
      execution,
      anchor_seq: anchor.seq,
      anchor: anchor.hash,
    },
  };
  const outcome = await append(actor, [...drafts, entry], options);
  if (outcome.kind === 'conflict') return outcome;
  return {
    kind: 'attested',
    attestation_id,
    execution_sha256: execution.commitment,
    execution_salt: execution.salt,
    journal_seq: outcome.entries.at(-1)?.seq as number,
  };
}
