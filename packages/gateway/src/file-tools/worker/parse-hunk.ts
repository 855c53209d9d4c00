import { malformed, type PatchLines } from './patch-lines.ts';

export interface Hunk {
  /** In the old file, counted from 1; of a hunk without old lines the line that it comes behind. */
  readonly oldStart: number;
  readonly lines: readonly HunkLine[];
  /** Where in the patch it begins, counted from 1. */
  readonly line: number;
}

export interface HunkLine {
  readonly kind: 'context' | 'removed' | 'added';
  /** With its end, unless the file ends without one. */
  readonly text: string;
}

const HEADER = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;

export function isHunkHeader(line: string): boolean {
  return line.startsWith('@@');
}

/** The header and exactly the lines that it announces. Throws `file.patch_malformed`. */
export function parseHunk(patch: PatchLines): Hunk {
  const line = patch.at + 1;
  const header = HEADER.exec(patch.lines[patch.at] ?? '');
  if (header === null) throw malformed(patch, 'The hunk does not begin with "@@ -line,count +line,count @@".');
  const [oldStart, oldCount, , newCount] = [header[1], header[2] ?? '1', header[3], header[4] ?? '1'].map(Number);
  patch.at += 1;
  const left = { old: oldCount ?? 0, new: newCount ?? 0 };
  const lines: HunkLine[] = [];
  while (left.old > 0 || left.new > 0) {
    lines.push(takeLine(patch, left, line));
    markMissingEnd(patch, lines);
  }
  refuseMore(patch, line);
  return { oldStart: oldStart ?? 0, lines, line };
}

function takeLine(patch: PatchLines, left: { old: number; new: number }, hunkLine: number): HunkLine {
  const written = patch.lines[patch.at];
  const wrong = (reason: string) =>
    malformed(patch, `${reason} The counts of the hunk at line ${hunkLine} say otherwise.`);
  if (written === undefined) throw wrong('The patch ends inside a hunk.');
  const text = `${written.slice(1)}\n`;
  patch.at += 1;
  // Editors strip blanks at the end of a line, and an empty context line is one.
  if (written.startsWith(' ') || written === '' || written === '\r') {
    left.old -= 1;
    left.new -= 1;
    if (left.old >= 0 && left.new >= 0)
      return { kind: 'context', text: written.startsWith(' ') ? text : `${written}\n` };
  } else if (written.startsWith('-')) {
    left.old -= 1;
    if (left.old >= 0) return { kind: 'removed', text };
  } else if (written.startsWith('+')) {
    left.new -= 1;
    if (left.new >= 0) return { kind: 'added', text };
  }
  patch.at -= 1;
  throw wrong('This line does not belong into a hunk, or is one too many.');
}

/** `\ No newline at end of file` is about the line before it. */
function markMissingEnd(patch: PatchLines, lines: HunkLine[]): void {
  const last = lines.at(-1);
  if (last === undefined || patch.lines[patch.at]?.startsWith('\\') !== true) return;
  lines[lines.length - 1] = { ...last, text: last.text.slice(0, -1) };
  patch.at += 1;
}

/** SECURITY: T-03 — lines behind the counted ones would be shown to an approver and left out by us. */
function refuseMore(patch: PatchLines, hunkLine: number): void {
  const next = patch.lines[patch.at];
  if (next === undefined || !/^[-+ ]/.test(next) || next === '-- ') return;
  if (next.startsWith('--- ') && patch.lines[patch.at + 1]?.startsWith('+++ ') === true) return;
  throw malformed(patch, `The hunk at line ${hunkLine} has more lines than it says.`);
}
