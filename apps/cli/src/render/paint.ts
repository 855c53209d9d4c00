import { styleText } from 'node:util';

type Style = 'title' | 'name' | 'faint' | 'error' | 'warning' | 'fix' | 'code';

/** Marks a text by what it is, not by how it looks; without colour it returns the text itself. */
export type Paint = (style: Style, text: string) => string;

const FORMATS = {
  title: 'bold',
  name: 'cyan',
  faint: 'dim',
  error: ['red', 'bold'],
  warning: ['yellow', 'bold'],
  fix: ['green', 'bold'],
  // Light on dark on every screen: not all readers know what to do with a code that is the other way round.
  code: ['whiteBright', 'bgBlack'],
} as const;

export const plainPaint: Paint = (_style, text) => text;

// Whether the stream takes colour is decided once, by `choosePaint`; left alone, styleText asks `process.env` itself.
const colourPaint: Paint = (style, text) => styleText([FORMATS[style]].flat(), text, { validateStream: false });

export interface PaintChoice {
  readonly isTerminal: boolean;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** Colour on a terminal only, and not when https://no-color.org or a dumb terminal asks for none. */
export function choosePaint({ isTerminal, variables }: PaintChoice): Paint {
  const noColour = variables['NO_COLOR'] ?? '';
  return isTerminal && noColour === '' && variables['TERM'] !== 'dumb' ? colourPaint : plainPaint;
}
