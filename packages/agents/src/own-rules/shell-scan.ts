import type { ShellWord, SimpleCommand } from './read-shell.ts';

/** How far a line for a shell has been read, and what was found. */
export interface Scan {
  readonly text: string;
  /** How many substitutions are around what is read. */
  depth: number;
  at: number;
  readonly commands: SimpleCommand[];
  /** Here-documents whose text is behind the end of this line. */
  documents: Announced[];
  isWhole: boolean;
  /** There was a place where `<<` may be an operator of numbers. */
  hasNumbers: boolean;
}

export interface Announced {
  readonly end: string;
  readonly into: string[];
  /** Of `<<-`: tabs before the end are none of it. */
  readonly isIndented: boolean;
  /** Substitutions in it are made. */
  readonly isExpanded: boolean;
}

export function scanOf(text: string, commands: SimpleCommand[], depth: number): Scan {
  return { text, depth, at: 0, commands, documents: [], isWhole: true, hasNumbers: false };
}

/** A word that has no end yet. */
export interface DraftWord {
  text: string;
  isLiteral: boolean;
  isQuoted: boolean;
}

/** A command that has none. */
export interface Draft {
  readonly from: number;
  readonly words: ShellWord[];
  readonly files: ShellWord[];
  readonly documents: string[];
  word: DraftWord | undefined;
  /** What the next word is. */
  next: 'word' | 'file' | 'text' | 'document' | 'indented';
}

export function draftAt(from: number): Draft {
  return { from, words: [], files: [], documents: [], word: undefined, next: 'word' };
}
