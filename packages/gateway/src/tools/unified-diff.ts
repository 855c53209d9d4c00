export interface DiffedTexts {
  /** Relative to the workspace. */
  readonly path: string;
  /** Undefined: there is no such file. */
  readonly before: string | undefined;
  readonly after: string;
}

const CONTEXT = 3;
/** Of the table that the longest common part is looked for in; what is larger is shown as replaced. */
const MOST_CELLS = 1_000_000;

type Line = { readonly mark: ' ' | '-' | '+'; readonly text: string };

/** As `diff -u` writes it, to be read by people and to be applied; empty when the texts are the same. */
export function unifiedDiff({ path, before, after }: DiffedTexts): string {
  const lines = diffLines(splitLines(before ?? ''), splitLines(after));
  const hunks = hunksOf(lines);
  if (hunks.length === 0) return '';
  const from = before === undefined ? '/dev/null' : headerName(`a/${path}`);
  return [`--- ${from}\n`, `+++ ${headerName(`b/${path}`)}\n`, ...hunks].join('');
}

/** SECURITY: T-08 — quoted as git does: a line break in a name must not become a line of the diff. */
export function headerName(name: string): string {
  if (!ODD.test(name)) return name;
  const quoted = name.replace(new RegExp(ODD, 'gu'), (letter) =>
    /["\\]/.test(letter) ? `\\${letter}` : [...Buffer.from(letter)].map(octal).join(''),
  );
  return `"${quoted}"`;
}

const ODD = /[\p{Cc}"\\]/u;

function octal(byte: number): string {
  return `\\${byte.toString(8).padStart(3, '0')}`;
}

/** Each with its line break; only the last may have none. */
function splitLines(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function diffLines(before: readonly string[], after: readonly string[]): readonly Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return [
    ...before.slice(0, head).map((text): Line => ({ mark: ' ', text })),
    ...diffMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map((text): Line => ({ mark: ' ', text })),
  ];
}

/** By the longest common part, or all of the one for all of the other. */
function diffMiddle(before: readonly string[], after: readonly string[]): readonly Line[] {
  const width = after.length + 1;
  const isSmall = (before.length + 1) * width <= MOST_CELLS;
  const common = isSmall ? commonLengths(before, after) : undefined;
  const at = (row: number, column: number) => common?.[row * width + column] ?? 0;
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [old, fresh] = [before[row], after[column]];
    if (common !== undefined && old !== undefined && old === fresh) {
      lines.push({ mark: ' ', text: old });
      [row, column] = [row + 1, column + 1];
    } else if (old !== undefined && (fresh === undefined || at(row + 1, column) >= at(row, column + 1))) {
      lines.push({ mark: '-', text: old });
      row += 1;
    } else {
      lines.push({ mark: '+', text: fresh ?? '' });
      column += 1;
    }
  }
  return lines;
}

/** How long the longest common part is from each pair of lines to the ends. */
function commonLengths(before: readonly string[], after: readonly string[]): Uint32Array {
  const width = after.length + 1;
  const lengths = new Uint32Array((before.length + 1) * width);
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const isSame = before[row] === after[column];
      const [below, beside] = [lengths[(row + 1) * width + column] ?? 0, lengths[row * width + column + 1] ?? 0];
      lengths[row * width + column] = isSame
        ? (lengths[(row + 1) * width + column + 1] ?? 0) + 1
        : Math.max(below, beside);
    }
  }
  return lengths;
}

function hunksOf(lines: readonly Line[]): readonly string[] {
  const changed = lines.flatMap(({ mark }, index) => (mark === ' ' ? [] : [index]));
  const spans: { from: number; to: number }[] = [];
  for (const index of changed) {
    const last = spans.at(-1);
    const from = Math.max(0, index - CONTEXT);
    const to = Math.min(lines.length, index + CONTEXT + 1);
    if (last !== undefined && from <= last.to) last.to = to;
    else spans.push({ from, to });
  }
  const counted = countedBefore(lines);
  return spans.map(({ from, to }) => writeHunk(lines.slice(from, to), counted[from] ?? { old: 0, fresh: 0 }));
}

interface Counted {
  readonly old: number;
  readonly fresh: number;
}

/** How many lines of both files stand before each line. */
function countedBefore(lines: readonly Line[]): readonly Counted[] {
  let [old, fresh] = [0, 0];
  return lines.map(({ mark }) => {
    const here = { old, fresh };
    old += mark === '+' ? 0 : 1;
    fresh += mark === '-' ? 0 : 1;
    return here;
  });
}

function writeHunk(lines: readonly Line[], before: Counted): string {
  const old = lines.filter(({ mark }) => mark !== '+').length;
  const fresh = lines.filter(({ mark }) => mark !== '-').length;
  // A side without lines is said to be at the line before.
  const range = (count: number, start: number) => `${count === 0 ? start : start + 1},${count}`;
  const body = lines.map(({ mark, text }) =>
    text.endsWith('\n') ? `${mark}${text}` : `${mark}${text}\n\\ No newline at end of file\n`,
  );
  return `@@ -${range(old, before.old)} +${range(fresh, before.fresh)} @@\n${body.join('')}`;
}
