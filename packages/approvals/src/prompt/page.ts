import { type VisibleTextOptions, visibleText } from '@palyra/primitives';

/** A text as it is shown, from both ends when there is no room for all of it. */
export interface Shown {
  readonly text: string;
  /** How long it really is. */
  readonly bytes: number;
  /** How many of them are not shown; the text says so where they are missing. */
  readonly leftOut: number;
}

/** Where texts are put down for people, with a count of what there was no room for. */
export interface Page {
  /** A text that stands for itself, perhaps behind a word of ours. */
  text(text: string): string;
  /** Sentences in whatever language, in lines of their own. */
  prose(text: string): string;
  /** A name within a sentence: quoted unless nobody could take it for anything else. */
  name(text: string): string;
  command(argv: readonly string[]): string;
  /** The first of them; the last one shown says how many more there are. */
  list<Item, Line>(items: readonly Item[], show: (item: Item) => Line, more: (note: string) => Line): readonly Line[];
  count(shown: Shown): string;
  readonly leftOut: number;
}

/** Longer than any name that is meant to be read. */
export const MOST_OF_A_NAME = 1_000;
const MOST_OF_A_TEXT = 4_000;
const MOST_LINES = 64;
const MOST_WORDS = 1_000;

export function createPage(): Page {
  let leftOut = 0;
  const count = (shown: Shown): string => {
    leftOut += shown.leftOut;
    return shown.text;
  };
  return {
    count,
    text: (text) => count(showWithin(text, MOST_OF_A_TEXT, { isEmbedded: true })),
    prose: (text) => count(showWithin(text, MOST_OF_A_TEXT)),
    name: (text) => count(showWord(text, MOST_OF_A_NAME)),
    command: (argv) => count(showCommand(argv, MOST_OF_A_TEXT)),
    list(items, show, more) {
      const lines = items.slice(0, MOST_LINES).map(show);
      const rest = items.slice(MOST_LINES);
      if (rest.length === 0) return lines;
      leftOut += Buffer.byteLength(JSON.stringify(rest));
      return [...lines, more(`\\[${rest.length} more not shown]`)];
    },
    get leftOut() {
      return leftOut;
    },
  };
}

/** At most so many characters of what is shown, besides the note; escapes count as what they take. */
export function showWithin(text: string, most: number, options: VisibleTextOptions = {}): Shown {
  const bytes = Buffer.byteLength(text);
  // SECURITY: T-08, T-39 — cut before it is made visible: escapes are ten times as long, and there may be megabytes.
  for (let limit = most; ; limit = Math.floor(limit / 2)) {
    const [head, tail] = endsOf(text, limit);
    const leftOut = tail === undefined ? 0 : bytes - Buffer.byteLength(head) - Buffer.byteLength(tail);
    const ends = [head, tail ?? ''].map((end) => visibleText(end, options));
    // SECURITY: T-08 — no text can fake the note: its own backslashes are doubled.
    const note = tail === undefined ? '' : `\\[${plural(leftOut, 'byte')} not shown]`;
    if (limit === 0 || ends.join('').length <= most) return { text: ends.join(note), bytes, leftOut };
  }
}

/** The words of a command, one quoted text each, so that nobody takes two for one. */
export function showCommand(argv: readonly string[], most: number): Shown {
  const bytes = argv.reduce((sum, word) => sum + Buffer.byteLength(word), Math.max(0, argv.length - 1));
  const { head, tail, left } = middleLeftOut(argv, Math.min(MOST_WORDS, Math.ceil(most / 50)));
  const between = left.length === 0 ? [] : [`\\[${plural(left.length, 'word')} not shown]`];
  const wordBytes = left.reduce((sum, word) => sum + Buffer.byteLength(word) + 1, 0);
  for (let limit = most; ; limit = Math.floor(limit / 2)) {
    const fits = [...head, ...tail].reduce((sum, word) => sum + Math.min(word.length, limit), 0) <= most;
    if (!fits && limit > 0) continue;
    const [first, last] = [head.map((word) => showWord(word, limit)), tail.map((word) => showWord(word, limit))];
    const text = [...first.map(textOf), ...between, ...last.map(textOf)].join(' ');
    const leftOut = [...first, ...last].reduce((sum, shown) => sum + shown.leftOut, wordBytes);
    if (limit === 0 || text.length <= most + (leftOut > 0 ? most / 10 : 0)) return { text, bytes, leftOut };
  }
}

const PLAIN_WORD = /^[A-Za-z0-9_/.:=@%+,-]+$/;
/** What passes for our quote (Unicode's confusables of U+0027, and the other half of a pair of quotes). */
const QUOTES =
  /['\u00B4\u02B9\u02BB-\u02BE\u02C8\u02CA\u02CB\u02F4\u0374\u0384\u055A\u055D\u05F3\u07F4\u07F5\u144A\u16CC\u1FBD\u1FBF\u1FEF\u1FFD\u1FFE\u2018-\u201B\u2032\u2035\u2039\u203A\u275B\u275C\uA78C\uFF07\uFF40]|[\u{16F51}\u{16F52}]/gu;

/** As it is when it is plain, else in quotes. */
export function showWord(word: string, most: number): Shown {
  if (word.length <= most && PLAIN_WORD.test(word)) return { text: word, bytes: word.length, leftOut: 0 };
  // SECURITY: T-08 — words from right to left would change places with their neighbours.
  const shown = showWithin(word, most, { isEmbedded: true });
  // SECURITY: T-08 — a quote within a word would end it early for the reader; our escapes are the only single backslashes.
  const inner = shown.text.replaceAll(QUOTES, (quote) => `\\u{${quote.codePointAt(0)?.toString(16).toUpperCase()}}`);
  return { ...shown, text: `'${inner}'` };
}

function plural(count: number, unit: 'byte' | 'word'): string {
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

function textOf({ text }: Shown): string {
  return text;
}

/** Both ends of it, no half characters; without a tail it is whole. */
function endsOf(text: string, limit: number): readonly [head: string, tail?: string] {
  if (text.length <= limit) return [text];
  const tailLength = Math.floor(limit / 3);
  const head = text.slice(0, limit - tailLength).replace(/[\uD800-\uDBFF]$/, '');
  const tail = tailLength === 0 ? '' : text.slice(-tailLength).replace(/^[\uDC00-\uDFFF]/, '');
  return [head, tail];
}

interface WordsShown {
  readonly head: readonly string[];
  readonly left: readonly string[];
  readonly tail: readonly string[];
}

function middleLeftOut(argv: readonly string[], most: number): WordsShown {
  if (argv.length <= most) return { head: argv, left: [], tail: [] };
  const tail = Math.floor(most / 3);
  return {
    head: argv.slice(0, most - tail),
    left: argv.slice(most - tail, argv.length - tail),
    tail: argv.slice(argv.length - tail),
  };
}
