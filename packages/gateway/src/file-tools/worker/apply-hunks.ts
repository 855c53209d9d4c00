import type { Hunk } from './parse-hunk.ts';

export type HunksApplied =
  | { readonly kind: 'applied'; readonly text: string }
  | {
      readonly kind: 'mismatch';
      /** Counted from 1. */
      readonly hunk: number;
      /** Of the file, counted from 1. */
      readonly line: number;
      readonly reason: string;
    };

export interface ApplyOptions {
  /** How many lines a hunk may be away from where it says; 0: not at all. */
  readonly maxOffset: number;
}

/** Every line must be exactly what the hunk says: nothing is skipped, nothing is guessed. */
export function applyHunks(text: string, hunks: readonly Hunk[], { maxOffset }: ApplyOptions): HunksApplied {
  const lines = linesOf(text);
  const result: string[] = [];
  let done = 0;
  for (const [index, hunk] of hunks.entries()) {
    const old = hunk.lines.filter(({ kind }) => kind !== 'added').map((line) => line.text);
    const asked = old.length === 0 ? hunk.oldStart : hunk.oldStart - 1;
    const found = place(lines, old, { asked, from: done, maxOffset });
    if (found.kind === 'nowhere') return { kind: 'mismatch', hunk: index + 1, line: found.line, reason: found.reason };
    for (const line of lines.slice(done, found.at)) result.push(line);
    for (const line of hunk.lines) if (line.kind !== 'removed') result.push(line.text);
    done = found.at + old.length;
  }
  for (const line of lines.slice(done)) result.push(line);
  const open = result.findIndex((line, at) => at < result.length - 1 && !line.endsWith('\n'));
  if (open < 0) return { kind: 'applied', text: result.join('') };
  const reason = 'a line without an end would stand in the middle of the file';
  return { kind: 'mismatch', hunk: hunks.length, line: open + 1, reason };
}

interface Wanted {
  /** Counted from 0. */
  readonly asked: number;
  /** Lines before are taken. */
  readonly from: number;
  readonly maxOffset: number;
}

type Placed =
  | { readonly kind: 'at'; readonly at: number }
  | { readonly kind: 'nowhere'; readonly line: number; readonly reason: string };

function place(lines: readonly string[], old: readonly string[], { asked, from, maxOffset }: Wanted): Placed {
  if (asked < from || asked > lines.length) {
    const reason = asked < from ? 'it begins before the hunk above it ends' : `the file has ${lines.length} lines`;
    if (asked < from || old.length === 0) return { kind: 'nowhere', line: asked + 1, reason };
  } else if (fits(lines, old, asked)) return { kind: 'at', at: asked };

  // By itself: where it fits far away, however often, must not hide a second place near.
  const near = placesOf(lines, old, { from: Math.max(from, asked - maxOffset), to: asked + maxOffset, most: 2 });
  const [only] = near;
  if (near.length === 1 && only !== undefined) return { kind: 'at', at: only };
  const elsewhere = placesOf(lines, old, { from, to: lines.length, most: 10 });
  return { kind: 'nowhere', ...firstDifference(lines, old, asked, elsewhere) };
}

function fits(lines: readonly string[], old: readonly string[], at: number): boolean {
  return old.every((text, index) => lines[at + index] === text);
}

interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly most: number;
}

function placesOf(lines: readonly string[], old: readonly string[], { from, to, most }: Stretch): readonly number[] {
  const places: number[] = [];
  const last = old.length === 0 ? -1 : Math.min(to, lines.length - old.length);
  for (let at = from; at <= last && places.length < most; at += 1) {
    if (fits(lines, old, at)) places.push(at);
  }
  return places;
}

function firstDifference(
  lines: readonly string[],
  old: readonly string[],
  asked: number,
  elsewhere: readonly number[],
): { readonly line: number; readonly reason: string } {
  const index = Math.max(
    0,
    old.findIndex((text, each) => lines[asked + each] !== text),
  );
  const [expected, found] = [old[index] ?? '', lines[asked + index]];
  const has = found === undefined ? `the file has only ${lines.length} lines` : `the file has ${shown(found)}`;
  const places = elsewhere.map((at) => at + 1).join(', ');
  const hint = places === '' ? '' : `; its lines are found at line ${places}`;
  return {
    line: asked + index + 1,
    reason: `the patch expects ${shown(expected)}, ${has}${endsOf(expected, found)}${hint}`,
  };
}

/** What does not show otherwise. */
function endsOf(expected: string, found: string | undefined): string {
  if (found === undefined || expected.trimEnd() !== found.trimEnd()) return '';
  return ' (they differ in blanks or the line end)';
}

/** Without its end, as text, and not too much of it. */
function shown(line: string): string {
  const text = Buffer.from(line.replace(/\n$/, ''), 'latin1').toString('utf8');
  return JSON.stringify(text.length > 120 ? `${text.slice(0, 120).toWellFormed()}…` : text);
}

/** With their ends. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n').map((line) => `${line}\n`);
  const last = lines.pop()?.slice(0, -1) ?? '';
  return last === '' ? lines : [...lines, last];
}
