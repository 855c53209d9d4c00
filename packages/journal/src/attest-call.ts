import { type IdSource, secureRandomBytes } from '@palyra/primitives';
import type { AppendOptions, AppendOutcome, CallerDraft, Draft } from './append-entries.ts';
import type { Body } from './bodies/prepare-body.ts';
import type { AppenderOptions } from './coalesce-appends.ts';
import { signAttestation, type ToolAttestation, writeBehindAnchor } from './format/attestation.ts';
import { hexOf } from './format/bytes.ts';
import { SALT_BYTES } from './format/commitment.ts';
import type { Signer } from './format/crypto.ts';
import type { Actor } from './format/entry.ts';
import { executionRecordOf } from './format/execution-record.ts';
import { JournalError } from './journal-error.ts';
import { nodeSha256 } from './node-crypto.ts';
import type { LateAttestation } from './store/late-attestation.ts';
import type { StoredBodies } from './stored-bodies.ts';

/** What is known of a call when it is over, or was refused. */
export interface AttestedCall extends Pick<AppendOptions, 'steps' | 'notifications'> {
  readonly facts: CallFacts & {
    /** Absent: the intent is one of the drafts, and its place becomes known when they get theirs. */
    readonly anchor?: ToolAttestation['anchor'];
  };
  /** The entries that say the same in the chain, such as the outcome: appended with the attestation, before it. */
  readonly drafts: readonly CallerDraft[];
}

type CallFacts = Omit<ToolAttestation, 'attestation_id' | 'origin' | 'execution_sha256' | 'anchor'>;

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

export interface AttestAppendOptions extends Omit<AppenderOptions, 'late'> {
  /** One more draft, whose anchor and envelope are filled in when the others have their places. */
  readonly late?: Omit<LateAttestation, 'entry'> & { readonly draft: Draft };
}

export type AttestAppend = (
  actor: Actor,
  drafts: readonly Draft[],
  options?: AttestAppendOptions,
) => Promise<AppendOutcome>;

export interface AttestDeps {
  readonly append: AttestAppend;
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
  const { anchor, ...said } = facts;
  const identified = { ...said, origin, attestation_id: ids.newId('attestation') };
  const execution = await bodies.prepare(executionRecordOf(identified));
  const attestation = { ...identified, execution_sha256: execution.commitment };
  const appending = async (): Promise<AppendOutcome> => {
    if (anchor === undefined) {
      return append(actor, drafts, { ...options, late: lateOf(attestation, execution, drafts) });
    }
    const key = signer();
    const anchored = { ...attestation, anchor };
    const envelope = await bodies.prepare(signAttestation(anchored, key, nodeSha256));
    const entry = entryOf(anchored, { envelope, execution });
    return append(actor, [...drafts, entry], { ...options, signedBy: hexOf(key.publicKey) });
  };
  const outcome = await appending();
  if (outcome.kind === 'conflict') return outcome;
  return {
    kind: 'attested',
    attestation_id: attestation.attestation_id,
    execution_sha256: execution.commitment,
    execution_salt: execution.salt,
    journal_seq: outcome.entries.at(-1)?.seq as number,
  };
}

/** What can be said before the intent has its place. */
function lateOf(
  attestation: Omit<ToolAttestation, 'anchor'>,
  execution: Body,
  drafts: readonly CallerDraft[],
): NonNullable<AttestAppendOptions['late']> {
  const anchorAt = drafts.findIndex((draft) => isIntentOf(draft, attestation));
  if (anchorAt < 0) throw new JournalError('journal.invalid_entry', 'The intent of the call is not among the entries.');
  const envelopeSalt = secureRandomBytes(SALT_BYTES);
  const envelope: Body = { commitment: UNKNOWN, salt: envelopeSalt, bytes: 0, totalBytes: 0, content: NOTHING };
  const anchored: ToolAttestation = { ...attestation, anchor: { kind: 'intent', seq: 0, hash: UNKNOWN } };
  return {
    draft: entryOf(anchored, { envelope, execution }),
    anchorAt,
    behind: writeBehindAnchor(attestation),
    envelopeSalt,
  };
}

const UNKNOWN = '0'.repeat(64);
const NOTHING = new Uint8Array();

/** SECURITY: T-31 — anchored at an intent of the same call, as verifiers want it; another one would spoil the log for good. */
function isIntentOf(
  { kind, data }: CallerDraft,
  { call_id, policy_snapshot_sha256 }: Omit<ToolAttestation, 'anchor'>,
): boolean {
  return kind === 'intent' && data.call_id === call_id && data.policy_snapshot === policy_snapshot_sha256;
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
