import type { IdSource } from '@palyra/primitives';
import type { AppendOptions, AppendOutcome, CallerDraft, Draft } from './append-entries.ts';
import type { Body } from './bodies/prepare-body.ts';
import type { AppenderOptions } from './coalesce-appends.ts';
import { signAttestation, type ToolAttestation } from './format/attestation.ts';
import { hexOf } from './format/bytes.ts';
import type { Signer } from './format/crypto.ts';
import type { Actor } from './format/entry.ts';
import { executionRecordOf } from './format/execution-record.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { StoredBodies } from './stored-bodies.ts';

/** What is known of a call when it is over, or was refused. */
export interface AttestedCall extends Pick<AppendOptions, 'steps' | 'notifications'> {
  readonly facts: Omit<ToolAttestation, 'attestation_id' | 'origin' | 'execution_sha256'>;
  /** The entries that say the same in the chain, such as the outcome: appended with the attestation, before it. */
  readonly drafts: readonly CallerDraft[];
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
  append(actor: Actor, drafts: readonly Draft[], options: AppenderOptions): Promise<AppendOutcome>;
  readonly bodies: Pick<StoredBodies, 'prepare'>;
  readonly origin: string;
  readonly ids: IdSource;
  /** Asked each time: the key may have been rotated. */
  signer(): Signer;
}

/** Outcome and attestation are one commit: neither is ever there without the other. */
export async function attestCall(actor: Actor, call: AttestedCall, deps: AttestDeps): Promise<AttestOutcome> {
  requireAgreement(call);
  for (let tries = 1; ; tries += 1) {
    try {
      return await attestOnce(actor, call, deps);
    } catch (error) {
      // Another process rotated the key between our signature and our turn: the file has the new one now.
      const wasRotated = error instanceof JournalError && error.code === 'journal.key_not_certified';
      if (!wasRotated || tries === TRIES) throw error;
    }
  }
}

const TRIES = 5;

async function attestOnce(
  actor: Actor,
  { facts, drafts, ...options }: AttestedCall,
  { append, bodies, origin, ids, signer }: AttestDeps,
): Promise<AttestOutcome> {
  const key = signer();
  const identified = { ...facts, origin, attestation_id: ids.newId('attestation') };
  const execution = await bodies.prepare(executionRecordOf(identified));
  const attestation: ToolAttestation = { ...identified, execution_sha256: execution.commitment };
  const envelope = await bodies.prepare(signAttestation(attestation, key, nodeSha256));
  const entry = entryOf(attestation, { envelope, execution });
  const outcome = await append(actor, [...drafts, entry], { ...options, signedBy: hexOf(key.publicKey) });
  if (outcome.kind === 'conflict') return outcome;
  return {
    kind: 'attested',
    attestation_id: attestation.attestation_id,
    execution_sha256: execution.commitment,
    execution_salt: execution.salt,
    journal_seq: outcome.entries.at(-1)?.seq as number,
  };
}

function entryOf(attestation: ToolAttestation, bodies: { readonly envelope: Body; readonly execution: Body }): Draft {
  const { attestation_id, run_id, session_id, call_id, principal, tool, anchor } = attestation;
  const ids = { run_id, session_id, call_id, principal, tool, attestation_id };
  return { kind: 'attestation', data: { ...ids, ...bodies, anchor_seq: anchor.seq, anchor: anchor.hash } };
}

/** SECURITY: T-31 — chain and attestation say the same about a call, or whoever verifies them finds a forgery. */
function requireAgreement({ facts, drafts }: AttestedCall): void {
  for (const draft of drafts) {
    if (draft.kind !== 'outcome') continue;
    const { call_id, outcome, output } = draft.data;
    const isSame =
      call_id === facts.call_id && outcome === facts.outcome.kind && output?.commitment === facts.output_sha256;
    if (isSame) continue;
    throw new JournalError('journal.invalid_entry', 'The outcome in the chain is not the one that is attested.');
  }
}
