/** How a diff names the side of a file that is not there. */
export const NOTHING = '/dev/null';

/** Bytes, one character each, to text; git quotes what is not plain. Undefined for what would have to be guessed. */
export function headerPath(written: string): string | undefined {
  const [whole, quoted] = /^"((?:[^"\\]|\\.)*)"(?=\r?$|\t)/.exec(written) ?? [];
  if (whole === undefined && written.startsWith('"')) return undefined;
  // diff puts a date behind a tab, and some programs a carriage return.
  const bytes = quoted === undefined ? written.replace(/\t.*$/, '').replace(/\r$/, '') : unquote(quoted);
  return bytes === undefined ? undefined : asText(bytes);
}

/** SECURITY: T-08 — a name that is not UTF-8 would become the name of another file. */
function asText(bytes: string): string | undefined {
  const text = Buffer.from(bytes, 'latin1').toString('utf8');
  return Buffer.from(text, 'utf8').toString('latin1') === bytes ? text : undefined;
}

/** `a/x b/x`: names with blanks are found because both are the same. */
export function gitPaths(written: string): { readonly from: string; readonly to: string } | undefined {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(written);
  if (quoted !== null) return bothOf(quoted[1] ?? '', quoted[2] ?? '');
  const half = (written.length - 1) / 2;
  const [from, to] = [written.slice(0, half), written.slice(half + 1)];
  if (written[half] !== ' ' || from.slice(1) !== to.slice(1)) return undefined;
  return bothOf(from, to);
}

function bothOf(old: string, next: string): ReturnType<typeof gitPaths> {
  const [from, to] = [headerPath(old), headerPath(next)];
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** Whether a name as it is written, with or without a directory before it, is this path; undefined: nothing. */
export function mayMean(written: string, path: string | undefined): boolean {
  if (written === NOTHING) return path === undefined;
  return path !== undefined && (written === path || below(written) === path);
}

export interface Sides {
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** Options of diff and git, and what hg says of revisions. */
const OPTIONS = /^(?:(?:-r [0-9a-f]{12,40}|-U \d+|-\S+) )*/;

/** Whether the first line of a file names these two and nothing else: blanks are not quoted there, so each may part the names. */
export function namesOnly(written: string, { from, to }: Sides): boolean {
  if (written.includes('\t')) return false;
  const names = written.replace(OPTIONS, '');
  // hg names it once.
  if (from !== undefined && from === to && isSide(names, to, from)) return true;
  const mayPart = partsOf(names, from ?? to ?? '');
  for (let at = names.indexOf(' '); at >= 0; at = names.indexOf(' ', at + 1)) {
    if (mayPart(at) && isSide(names.slice(0, at), from, to) && isSide(names.slice(at + 1), to, from)) return true;
  }
  return false;
}

/** Of the directory that may stand before a name: as long as any is. */
const LONGEST_MARK = 256;

/**
 * SECURITY: T-39 — of names full of blanks each may part them, and each would be looked at whole: only there where the first
 * one ends if it is quoted, or is about as long as it has to be.
 */
function partsOf(names: string, path: string): (at: number) => boolean {
  const quoted = /^(?:"(?:[^"\\]|\\.)*"|'[^']*')/.exec(names)?.[0].length;
  const least = Buffer.byteLength(path);
  return (at) => {
    const to = names[at - 1] === '\r' ? at - 1 : at;
    if (to === quoted || (to === NOTHING.length && names.startsWith(NOTHING))) return true;
    return to >= least && to <= least + LONGEST_MARK;
  };
}

/** Of a file that is made or deleted git names both sides alike. */
function isSide(written: string, meant: string | undefined, other: string | undefined): boolean {
  const name = headerPath(written.replace(/^'([^']*)'$/, '$1'));
  if (name === undefined) return false;
  if (name === NOTHING) return meant === undefined;
  const path = meant ?? other;
  // A directory before it that holds a blank could be another name.
  return name === path || (mayMean(name, path) && !(/^[^/]* [^/]*\//.test(name) && name === written));
}

/** The one name that both mean: the same, or the same below `a/` and `b/` or two other directories. */
export function samePath(from: string, to: string, isGit: boolean): string | undefined {
  const marks: readonly [string, string] = [from.slice(0, 2), to.slice(0, 2)];
  const isMarked = (mark: string) => mark === 'a/' || mark === 'b/';
  if (from === to && !(isGit && isMarked(marks[0]))) {
    // One name stands for both where the other is /dev/null, and diff writes it as `b/name` too.
    return isMarked(marks[0]) ? from.slice(2) : from;
  }
  const [left, right] = [below(from), below(to)];
  return left === right && left !== '' ? left : undefined;
}

function below(path: string): string {
  const slash = path.indexOf('/');
  return slash < 0 ? '' : path.slice(slash + 1);
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
};

function unquote(text: string): string | undefined {
  if (text.replace(/\\(?:[0-3][0-7]{2}|[abtnvfr"\\])/g, '').includes('\\')) return undefined;
  return text.replace(/\\([0-3][0-7]{2}|.)/g, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number.parseInt(escaped, 8)) : (ESCAPES[escaped] ?? ''),
  );
}
