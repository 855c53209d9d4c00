import type { EntryKind } from './open-file.ts';

/** What goes in and comes out, tool by tool, as agents write and read it. Digests are SHA-256 in hexadecimal; paths are relative to the workspace. */

export interface ReadInput {
  readonly path: string;
  /** Counted from 1. */
  readonly first_line?: number;
  readonly line_limit?: number;
  readonly encoding?: 'utf8' | 'base64';
  /** With base64 only. */
  readonly byte_offset?: number;
  readonly max_bytes?: number;
}

export interface ReadOutput {
  /** Links resolved. */
  readonly path: string;
  readonly size_bytes: number;
  /** Of the whole file; null when it is too large to be written with these tools. */
  readonly sha256: string | null;
  readonly encoding: 'utf8' | 'base64';
  readonly content: string;
  readonly truncated: boolean;
  readonly first_line: number | null;
  readonly line_count: number | null;
  /** Bytes that are not UTF-8 became replacement characters. */
  readonly lossy: boolean;
}

export interface ListInput {
  readonly path?: string;
  readonly depth?: number;
  readonly limit?: number;
  readonly globs?: readonly string[];
  readonly ignore_files?: boolean;
  readonly hidden?: boolean;
}

export interface ListedEntry {
  readonly path: string;
  readonly kind: EntryKind;
  /** Of a file. */
  readonly size_bytes?: number;
  readonly executable?: boolean;
  /** Of a link: what it says, not where it leads. */
  readonly target?: string;
}

export interface ListOutput {
  readonly path: string;
  readonly entries: readonly ListedEntry[];
  readonly truncated: boolean;
  readonly unreadable: number;
}

export interface SearchInput {
  readonly pattern: string;
  readonly kind?: 'literal' | 'regex';
  readonly ignore_case?: boolean;
  readonly path?: string;
  /** A file must match one of those without `!`, when there are any, and none of those with. */
  readonly globs?: readonly string[];
  readonly ignore_files?: boolean;
  readonly hidden?: boolean;
  readonly context_lines?: number;
  readonly limit?: number;
}

export interface Match {
  readonly path: string;
  /** Counted from 1, as are columns, in characters. */
  readonly line: number;
  readonly column: number;
  readonly text: string;
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface SearchOutput {
  readonly matches: readonly Match[];
  readonly files_searched: number;
  readonly skipped: {
    readonly binary: number;
    readonly too_large: number;
    readonly unreadable: number;
    /** Files that look like secrets; they are searched only with an approval. */
    readonly protected: number;
  };
  /** Why there may be more. */
  readonly stopped_by: 'nothing' | 'matches' | 'entries' | 'bytes' | 'time';
}

export interface WriteInput {
  readonly path: string;
  readonly content: string;
  readonly encoding?: 'utf8' | 'base64';
  readonly executable?: boolean;
  /** A digest of what must be there now, or `absent`. */
  readonly expect?: string;
}

export interface WriteOutput {
  readonly path: string;
  readonly size_bytes: number;
  readonly before: string | null;
  readonly after: string;
}

export interface PatchInput {
  readonly patch: string;
  /** How many lines a hunk may be away from where it says; only where it fits just once. */
  readonly max_offset?: number;
}

export interface PatchedFile {
  readonly path: string;
  readonly action: 'create' | 'modify' | 'delete' | 'rename';
  /** Of a rename. */
  readonly from?: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly added: number;
  readonly removed: number;
}

export interface PatchOutput {
  readonly files: readonly PatchedFile[];
}

/** One file as it was or is. */
export type FileState =
  | { readonly kind: 'absent' }
  | { readonly kind: 'file'; readonly sha256: string; readonly sizeBytes: number; readonly mode: number };

/** With the contents that were kept, this undoes what was done. */
export interface FileChange {
  readonly path: string;
  readonly before: FileState;
  readonly after: FileState;
}

export interface FileChanges {
  readonly files: readonly FileChange[];
  /** Directories that were made, outermost first. */
  readonly directories: readonly string[];
}
