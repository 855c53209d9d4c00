import { basename, join, resolve } from 'node:path';
import { canBeTheSame } from '../search-patterns.ts';
import type { OwnQuestion } from './find-own-rule.ts';
import type { ShellWord, SimpleCommand } from './read-shell.ts';

/** They read or write the files that they name. */
const FILE_PROGRAMS: ReadonlySet<string> = new Set(
  'cat tac head tail less more nl od xxd hexdump strings base64 sed awk grep egrep fgrep rg cut sort uniq wc diff cmp cp mv rm ln tee touch truncate dd install shred chmod chown source . vi vim nano tar zip gzip sha256sum md5sum sha1sum sha512sum paste column tr file stat jq mkdir rmdir rev fold comm join split bat iconv zcat'.split(
    ' ',
  ),
);

/** The files that some commands name, each from every place that it may be named from. */
export interface NamedFiles {
  /** Their names, from the root on. */
  readonly paths: readonly (readonly string[])[];
  /** False: one is named that only the shell will know, or more than are looked at. */
  readonly areAll: boolean;
}

type Places = Pick<OwnQuestion, 'directories' | 'userHome'>;

export function namedFiles(commands: readonly SimpleCommand[], { directories, userHome }: Places): NamedFiles {
  const [cwd = '/'] = directories;
  const steps = commands.filter(isStep);
  const targets = steps.map(({ words }) => words.slice(1).findLast(({ text }) => text !== '--') ?? HOME);
  const to = targets.slice(0, MOST_STEPS).map(({ text }) => text.replace(/^~(?=\/|$)/, userHome));
  // One after the other, and each by itself: what is in brackets counts there only.
  const entered = to.flatMap((step, at) => [resolve(cwd, step), resolve(cwd, ...to.slice(0, at + 1))]);
  const files = commands.flatMap(filesOf);
  const paths = files
    .slice(0, MOST_FILES)
    .flatMap(({ text }) =>
      text.startsWith('~/') ? [join(userHome, text.slice(2))] : [cwd, ...entered].map((from) => resolve(from, text)),
    );
  const isLittle = files.length <= MOST_FILES && steps.length <= MOST_STEPS;
  const areAll = files.length === 0 || (isLittle && [...files, ...targets].every(isKnown));
  return { paths: [...new Set(paths)].map((path) => path.split('/')), areAll };
}

/** Where `cd` goes by itself. */
const HOME: ShellWord = { text: '~', isLiteral: true };

/** Not the home of another, nor where it was before, nor a choice among paths. */
function isKnown({ text, isLiteral }: ShellWord): boolean {
  return !/^(?:~[^/]|-$)/.test(text) && (isLiteral || !/[$`]|\{.*\//.test(text));
}

/**
 * Whether the pattern covers one of them, by any of the directories that it may be relative to: `//root`, `~/home`, `/beside
 * the settings`, and anything else below the directory the agent was started in.
 */
export function coversOne(
  pattern: string,
  { paths }: NamedFiles,
  { patience, ...places }: Places & { readonly patience: Patience },
): boolean {
  const forms = formsOf(pattern, places).map((form) => form.split('/'));
  return paths.some((path) => forms.some((form) => isCovered(path, form, patience)));
}

/** SECURITY: T-39 — how many signs are still compared; whoever has used it up knows nothing of the rest. */
export interface Patience {
  left: number;
}

const MOST_FILES = 64;
const MOST_STEPS = 4;

/** From here on files are named from elsewhere. */
function isStep({ words: [program] }: SimpleCommand): boolean {
  return program?.text === 'cd' || program?.text === 'pushd';
}

function filesOf({ words: [program, ...rest], files }: SimpleCommand): readonly ShellWord[] {
  if (program === undefined || !FILE_PROGRAMS.has(basename(program.text))) return files;
  // `if=FILE` and `--file=FILE` name one as well.
  const named = rest.flatMap((word) => {
    const value = word.text.replace(/^[^=]*=/, '');
    return value === word.text ? [word] : [word, { ...word, text: value }];
  });
  return [...files, ...named];
}

function formsOf(pattern: string, { directories, userHome }: Places) {
  if (pattern.startsWith('//')) return [pattern.slice(1)];
  if (pattern.startsWith('~/')) return [join(userHome, pattern.slice(2))];
  const below = pattern.replace(/^(?:\.?\/)+/, '');
  // A name without a place is one anywhere below.
  const isName = !below.replace(/\/$/, '').includes('/') && !pattern.startsWith('/');
  const short = below.replaceAll(/(?:\*\*\/)+/g, '**/');
  return [...directories, userHome].map((directory) => join(directory, isName ? '**' : '', short));
}

/** Whatever is in a directory that is covered is covered. A name that the shell completes is one that it could be. */
function isCovered(path: readonly string[], form: readonly string[], patience: Patience): boolean {
  let open = new Set([0]);
  for (const name of path) {
    const next = new Set<number>();
    for (const at of open) {
      for (const here of behindAnything(form, at)) {
        const wanted = form[here];
        if (wanted === undefined) return true;
        patience.left -= 1 + ((name.length * wanted.length) >> 4);
        if (patience.left <= 0) return false;
        if (wanted === '**') next.add(here);
        else if (isSameName(name, wanted)) next.add(here + 1);
      }
    }
    if (next.size === 0) return false;
    open = next;
  }
  return [...open].some((at) => form.slice(at).every((part) => part === '') || at === form.length);
}

function behindAnything(form: readonly string[], at: number): readonly number[] {
  return form[at] === '**' ? [at, ...behindAnything(form, at + 1)] : [at];
}

function isSameName(name: string, wanted: string): boolean {
  // A shell puts in no hidden file for `*`.
  if (/^[*?[]/.test(name) && wanted.startsWith('.')) return false;
  return canBeTheSame(name.replaceAll(/\[[^\]]*\]|\{[^}]*\}/g, '*'), wanted.replaceAll(/\[[^\]]*\]/g, '?'));
}
