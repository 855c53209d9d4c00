export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

export interface CodeAndText {
  /** Lines of blocks, all of one width. */
  readonly code: string;
  /** The same in several widths; the first that has room is taken. */
  readonly texts: readonly string[];
}

/** A line of the screen: blocks first, then text. */
export interface LaidOutLine {
  readonly code: string;
  readonly text: string;
}

const GAP = '  ';

/**
 * A text beside the code or below it, as there is room: all of a code is on the screen, or none. Undefined: none. A line is
 * left for what comes after it.
 */
export function layOutCode({ code, texts }: CodeAndText, size: ScreenSize | undefined): LaidOutLine[] | undefined {
  const codes = linesOf(code);
  const candidates = [...texts.map((text) => beside(codes, linesOf(text))), ...texts.map((text) => below(codes, text))];
  return candidates.find((lines) => size === undefined || hasRoom(lines, size));
}

function linesOf(text: string): readonly string[] {
  return text.trimEnd().split('\n');
}

function beside(codes: readonly string[], texts: readonly string[]): LaidOutLine[] {
  const blank = ' '.repeat(Math.max(...codes.map(({ length }) => length)));
  const length = Math.max(codes.length, texts.length);
  return Array.from({ length }, (_line, at) => {
    const text = texts[at] ?? '';
    return { code: codes[at] ?? blank, text: text === '' ? '' : `${GAP}${text}` };
  });
}

function below(codes: readonly string[], text: string): LaidOutLine[] {
  return [
    ...codes.map((code) => ({ code, text: '' })),
    ...['', ...linesOf(text)].map((line) => ({ code: '', text: line })),
  ];
}

function hasRoom(lines: readonly LaidOutLine[], { columns, rows }: ScreenSize): boolean {
  return lines.length < rows && lines.every(({ code, text }) => code.length + text.length <= columns);
}
