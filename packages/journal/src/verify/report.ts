import type { SignedKeyStatement } from '../format/key-statement.ts';

/** What is wrong. Codes are API: add one, never rename one. */
export const FINDINGS = {
  not_a_log: 'This is not a log that this program can read.',
  entry_missing: 'An entry is not there.',
  entry_repeated: 'An entry is there twice, or out of order, or was inserted.',
  entry_edited: 'An entry does not have the hash it was stored with.',
  entry_malformed: 'An entry is not one that Palyra writes.',
  index_edited: 'What an entry is found by is not what it says.',
  schema_edited: 'A table or an index of the journal is not as Palyra makes it.',
  checkpoint_malformed: 'A checkpoint is not a signed note about this log.',
  checkpoint_wrong: 'A checkpoint says another root than the entries have.',
  checkpoint_unsigned: 'A checkpoint is not signed by a key that was valid at its place.',
  tail_unsigned: 'The last entries are under no checkpoint.',
  key_uncertified: 'A key statement is not signed by the root key.',
  root_differs: 'The log has another root key than the pinned one.',
  truncated: 'The log is shorter than a checkpoint that is known.',
  forked: 'The log differs from a checkpoint that is known.',
  body_swapped: 'A body is not the one that was committed to.',
  body_missing: 'A body is not there, and no entry says that it was erased.',
  body_kept: 'An entry says that a body was erased, and it or its salt is there.',
  attestation_unsigned: 'An attestation is not signed by a key that was valid at its place.',
  attestation_malformed: 'An attestation is not one that Palyra writes.',
  attestation_moved: 'An attestation is about another call, or another place in the log, than its entry.',
  snapshot_wrong: 'A policy snapshot is missing, or is not the one with its digest.',
  origin_unlinked: 'A recovered log does not name the head of the one before it.',
  prune_wrong: 'What is said about sealed or pruned entries is not what was signed.',
  head_edited: 'What the store says about the log as a whole is not what its entries say.',
} as const;

export type FindingCode = keyof typeof FINDINGS;

export interface Finding {
  readonly code: FindingCode;
  /**
   * The first bad entry. For a checkpoint, the first entry that no good checkpoint covers; for a log that was cut off, the
   * first entry that is gone. Absent when the fault is not at one: which entry differs in a fork, only the other side knows.
   */
  readonly seq?: number;
  /** One sentence for people, with the values that differ; never the content of a body. */
  readonly why: string;
}

/**
 * What a verification establishes, each including those before it. Without a pinned root key it is never more than the
 * first, whatever witnesses there are: a remark says what they saw.
 */
export type Established =
  /** The log agrees with itself, and is signed by keys that it brings along. */
  | { readonly level: 'self_consistent' }
  /** It is signed by keys that the pinned root key certified. */
  | { readonly level: 'signed' }
  /** A witness elsewhere saw it at this size and time (seconds since the Unix epoch, by the witness's clock). */
  | { readonly level: 'witnessed'; readonly size: number; readonly time: number; readonly witness: string };

export interface LogCounts {
  readonly entries: number;
  readonly checkpoints: number;
  readonly attestations: number;
  readonly bodies: { readonly checked: number; readonly erased: number; readonly leftOut: number };
}

/** Where a verification ended: the next one can go on from here. It is only worth what its keeper is. */
export interface VerifiedState {
  readonly format: 'palyra.verified/1';
  readonly origin: string;
  readonly rootKey: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly previous: string;
  readonly frontier: readonly string[];
  readonly keys: readonly SignedKeyStatement[];
  /** What witnesses saw of the log, up to the size. Each counts for those who still pin that witness. */
  readonly witnessed?: readonly WitnessedSize[];
  /** The log that this one follows, as its first entry says. */
  readonly follows?: LogHead;
}

export interface WitnessedSize {
  readonly size: number;
  /** Seconds since the Unix epoch, by the witness's clock. */
  readonly time: number;
  /** The verifier key of the witness. */
  readonly witness: string;
}

/** A log as it was when it had so many entries. */
export interface LogHead {
  readonly origin: string;
  readonly size: number;
  /** Hexadecimal. */
  readonly root: string;
}

export type LogReport =
  | {
      readonly kind: 'sound';
      readonly origin: string;
      readonly rootKey: string;
      readonly size: number;
      /** Hexadecimal. */
      readonly root: string;
      readonly established: Established;
      readonly counts: LogCounts;
      readonly state: VerifiedState;
      /** The log that this one names as the one before it; absent when it names none, or its first entry was not read. */
      readonly follows?: LogHead;
      /** Not wrong, but worth knowing: a clock that went back, entries before the base that were not seen. */
      readonly remarks: readonly string[];
    }
  | { readonly kind: 'broken'; readonly origin: string; readonly finding: Finding };

export interface VerifyPins {
  /** 32 bytes: the root key that the verifier got from elsewhere. */
  readonly rootKey?: Uint8Array;
  /** Verifier keys of witnesses that the verifier trusts. Keys of the log itself are passed over. */
  readonly witnesses: readonly { readonly name: string; readonly type: 1 | 4; readonly publicKey: Uint8Array }[];
  /** Checkpoints remembered elsewhere: signed notes, perhaps with cosignatures. Others' origins are passed over. */
  readonly checkpoints: readonly string[];
}
