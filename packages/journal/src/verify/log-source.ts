import type { EntryIndex, StoredEntry } from '../format/entry.ts';
import type { SignedKeyStatement } from '../format/key-statement.ts';
import type { Frontier } from '../format/merkle-tree.ts';

/** A log to be verified, wherever it lies: a database, an export, an archive. Nothing in it is believed. */
export interface LogSource {
  readonly origin: string;
  /** Hexadecimal; the key that the log says is its root. */
  readonly rootKey: string;
  /** Where the records begin: the beginning, or where the log was pruned. */
  readonly base: LogBase;
  /** The key statements from before the base. */
  readonly earlierKeys: readonly SignedKeyStatement[];
  /** What the store itself says about the end of the log, where it keeps such a note. */
  readonly head?: StoredHead;
  /**
   * In the order of the log: entries, and after the entry with which it was signed, each checkpoint. In pages. It begins
   * with the checkpoint of size `from`, if there is one. From the base on, records that belong nowhere come too.
   */
  records(from: number): AsyncIterable<readonly LogRecord[]>;
  /** The root of a size before the base, made of the same hashes as the base. Absent: this source does not have them. */
  earlierRoot?(size: number): Promise<Uint8Array | undefined>;
  /** A proof that the log of one size continues that of a smaller one, for where no records are read. */
  consistency?(oldSize: number, newSize: number): Promise<readonly Uint8Array[] | undefined>;
  /** What the store keeps of the tree to make proofs with. Absent: it keeps nothing. */
  readonly subtrees?: StoredSubtrees;
  /** The sizes that cosignatures in the log are said to be about, so that their roots are remembered on the way. */
  cosignedSizes?(): Promise<readonly number[]>;
  /** Bodies of an entry that is being verified. Absent: this source has none. Throws when it cannot look. */
  body?(commitment: string): Promise<SourceBody>;
  /** The text of a policy snapshot. Absent: this source has none. */
  snapshot?(digest: string): Promise<string | undefined>;
}

export interface LogBase {
  readonly frontier: Frontier;
  /** The hash of the entry before the base; 32 zero bytes at the beginning. */
  readonly previous: Uint8Array;
}

export interface StoredHead {
  readonly size: number;
  /** Of the last entry. */
  readonly hash: Uint8Array;
  /** As `encodeFrontier` writes it. */
  readonly frontier: Uint8Array;
  /** The size of the newest checkpoint. */
  readonly sealed: number;
  /** Where the records begin. */
  readonly pruned: number;
}

export interface StoredSubtrees {
  /** Roots of complete subtrees are kept of one level in so many. */
  readonly everyLevels: number;
  /** Of 2^level entries, from entry place × 2^level on. */
  root(level: number, place: number): Promise<Uint8Array | undefined>;
  /** Whether those of entries before the base are those of the hashes that were left of them. */
  holdBeforeBase(): Promise<boolean>;
}

export type LogRecord = EntryRecord | CheckpointRecord;

export interface EntryRecord {
  readonly kind: 'entry';
  readonly entry: Omit<StoredEntry, 'previous' | 'origin'>;
  /** As it was stored beside the entry. */
  readonly hash: Uint8Array;
  /** What the store can be searched by, where it has that. */
  readonly index?: EntryIndex;
}

export interface CheckpointRecord {
  readonly kind: 'checkpoint';
  /** As the store has it, whatever the note itself says. */
  readonly size: number;
  readonly note: string;
}

export type SourceBody =
  | {
      readonly kind: 'present';
      readonly salt: Uint8Array;
      readonly bytes: Uint8Array;
      /** How many bytes the store says there were before the body was cut, where it says that. */
      readonly totalBytes?: number;
      /** The entry that the store keeps it with, where it says that; -1: one of another log. */
      readonly entry?: number;
    }
  /** The store says so; the verifier looks for the entry that says the same. */
  | { readonly kind: 'erased'; readonly erasedBy: number | undefined }
  /** An entry of a later log says so; whoever verifies this log verifies that one too. */
  | { readonly kind: 'erased in a later log' }
  /** The store says so, and the entry that would say the same is not in this source. */
  | { readonly kind: 'said to be erased' }
  /** The store says that it was erased, and has its salt or its bytes all the same. */
  | { readonly kind: 'kept as erased' }
  /** Left out of this source on purpose: an export without bodies. */
  | { readonly kind: 'left out' }
  | { readonly kind: 'missing' }
  /** Something is there, but it is not the body: of another length, without a salt, another content. */
  | { readonly kind: 'unreadable'; readonly why: string };
