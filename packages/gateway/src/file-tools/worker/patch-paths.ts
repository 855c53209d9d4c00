/** Bytes, one character each, to text; git quotes what is not plain. */
export function headerPath(written: string): string {
  const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(written)?.[1];
  // diff puts a date behind a tab, and some programs a carriage return.
  const bytes = quoted === undefined ? written.replace(/\t.*$/, '').replace(/\r$/, '') : unquote(quoted);
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** `a/x b/x`: names with blanks are found because both are the same. */
export function gitPaths(written: string): { readonly from: string; readonly to: string } | undefined {
  const quoted = /^("(?:[^"\\]|\\.)*"|\S+) ("(?:[^"\\]|\\.)*"|\S+)$/.exec(written);
  if (quoted !== null) return { from: headerPath(quoted[1] ?? ''), to: headerPath(quoted[2] ?? '') };
  const half = (written.length - 1) / 2;
  const [from, to] = [written.slice(0, half), written.slice(half + 1)];
  if (written[half] !== ' ' || from.slice(1) !== to.slice(1)) return undefined;
  return { from: headerPath(from), to: headerPath(to) };
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

function unquote(text: string): string {
  return text.replace(/\\([0-7]{3}|.)/g, (_, escaped: string) =>
    escaped.length === 3 ? String.fromCharCode(Number.parseInt(escaped, 8) & 0xff) : (ESCAPES[escaped] ?? escaped),
  );
}
