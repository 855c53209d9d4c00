import { FileFailure, type ProtectedFile } from './file-failure.ts';
import { compileGlob, type Glob } from './glob.ts';

/** One kind of file that is not touched without an approval. Data, so that it can be shown, configured and sent. */
export interface ProtectedPattern {
  /** A glob over the path in the workspace, in lower case; it covers what lies below, too. */
  readonly pattern: string;
  /** `protected`: it runs code or instructs an agent later. `secret`: it looks as if it held secrets. */
  readonly reason: 'protected' | 'secret';
  /** `write`: reading it is free. */
  readonly access: 'write' | 'any';
}

export type Access = 'read' | 'write';

/** `true` is an approval of whatever the request touches; a list is one of exactly these, links resolved. */
export type AllowedProtected = boolean | readonly string[];

export interface ProtectedPaths {
  /** By any of its names; the path needs not exist. */
  reasonFor(path: string, access: Access): ProtectedFile['reason'] | undefined;
}

/** Throws for a malformed pattern: a pattern that is silently left out would protect nothing. */
export function createProtectedPaths(patterns: readonly ProtectedPattern[]): ProtectedPaths {
  const compiled = patterns.map(({ pattern, reason, access }) => {
    const glob = compileGlob(foldPath(pattern));
    if (glob === undefined) throw new FileFailure('file.invalid_input', `A protected pattern is malformed: ${pattern}`);
    return { glob, reason, access };
  });
  const byAccess = {
    read: rememberFirst(compiled.map(readable)),
    write: rememberFirst(compiled.map(({ glob }) => glob)),
  };
  return {
    reasonFor(path, access) {
      // The first pattern that covers any of them, and not the first name that is covered.
      const firsts = namesOf(path).map(byAccess[access]);
      return compiled[Math.min(...firsts)]?.reason;
    },
  };
}

interface Compiled extends Pick<ProtectedPattern, 'access'> {
  readonly glob: Glob;
}

/** What reading is free of covers nothing that is read. */
function readable({ glob, access }: Compiled): Glob {
  return access === 'any' ? glob : () => false;
}

/** Directories are the same ones over and over, and each call of an agent is held against all patterns there are. */
const MOST_KNOWN = 1024;
/** SECURITY: T-39 — in characters; longer ones are held against the patterns each time. */
const LONG = 256;

/** Which pattern is the first that covers a name; beyond the last one: none. It follows from the name alone, so it is remembered. */
function rememberFirst(globs: readonly Glob[]): (name: string) => number {
  const known = new Map<string, number>();
  const find = (name: string) => {
    const found = globs.findIndex((glob) => glob(name));
    return found < 0 ? globs.length : found;
  };
  return (name) => {
    if (name.length > LONG) return find(name);
    const before = known.get(name);
    if (before !== undefined) return before;
    if (known.size >= MOST_KNOWN) known.clear();
    const first = find(name);
    known.set(name, first);
    return first;
  };
}

/** Throws `file.protected`, naming all of them, unless each was approved. */
export function refuseProtected(found: readonly ProtectedFile[], allowed: AllowedProtected): void {
  if (allowed === true) return;
  const approved = new Set(allowed === false ? [] : allowed);
  const refused = found.filter(({ path }) => !approved.has(path));
  const [first] = refused;
  if (first === undefined) return;
  const what = first.reason === 'secret' ? 'looks as if it held secrets' : 'can run code or instruct an agent later';
  throw new FileFailure('file.protected', `${first.path} ${what}.`, {
    path: first.path,
    protectedFiles: refused,
    fix: 'Ask for an approval, or leave the file alone.',
  });
}

/** Of the path, and of all directories that it lies in: what lies below a protected one is as protected as that is. */
function namesOf(path: string): readonly string[] {
  const parts = foldPath(path).split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/**
 * SECURITY: T-15 — file systems disagree about which names are one: case, composed letters, characters that are not
 * seen, dots and blanks at the end. Whatever is the same name anywhere is the same name here.
 */
function foldPath(path: string): string {
  return foldLetters(path)
    .split('/')
    .map((name) => (/^\.{1,2}$/.test(name) ? name : name.replace(/(?<=[^. ])[. ]+$/, '')))
    .join('/');
}

/** Of ASCII nothing is left to fold but its case, and most paths are nothing else. */
function foldLetters(path: string): string {
  if (/^[\x20-\x7e]*$/.test(path)) return path.toLowerCase();
  return path
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .normalize('NFC');
}
