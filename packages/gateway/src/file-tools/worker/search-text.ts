import type { LinePattern } from './line-pattern.ts';
import type { Match } from './tool-shapes.ts';

export interface TextSearch {
  readonly contextLines: number;
  readonly lineCharacters: number;
  /** By `performance.now`. */
  readonly deadline: number;
}

const LINES_BETWEEN_LOOKS = 256;

/** One for each line that holds the pattern, as far as somebody asks; `time` when there is no more of it. */
export function* matchesIn(
  text: string,
  pattern: LinePattern,
  search: TextSearch,
): Generator<Omit<Match, 'path'> | 'time'> {
  if (pattern.mayMatch?.(text) === false) return;
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const shown = (at: number) => cut(lines[at] ?? '', search.lineCharacters);
  for (let at = 0; at < lines.length; at += 1) {
    if (at % LINES_BETWEEN_LOOKS === 0 && performance.now() > search.deadline) {
      yield 'time';
      return;
    }
    const line = withoutReturn(lines[at] ?? '');
    const column = pattern.find(line);
    if (column < 0) continue;
    const from = Math.max(0, at - search.contextLines);
    const to = Math.min(lines.length - 1, at + search.contextLines);
    yield {
      line: at + 1,
      column: column + 1,
      text: around(line, column, search.lineCharacters),
      before: range(from, at).map(shown),
      after: range(at + 1, to + 1).map(shown),
    };
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}

function cut(line: string, characters: number): string {
  const plain = withoutReturn(line);
  return plain.length <= characters ? plain : `${plain.slice(0, characters).toWellFormed()}…`;
}

/** Of a long line the part with the match in it. */
function around(line: string, column: number, characters: number): string {
  if (line.length <= characters) return line;
  const from = Math.max(0, Math.min(column - Math.floor(characters / 4), line.length - characters));
  const part = line.slice(from, from + characters).toWellFormed();
  return `${from > 0 ? '…' : ''}${part}${from + characters < line.length ? '…' : ''}`;
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}
