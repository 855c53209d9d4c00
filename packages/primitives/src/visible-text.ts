import { RIGHT_TO_LEFT } from './scripts.ts';

export interface VisibleTextOptions {
  /**
   * `escape` (unless told): one line, newlines shown as `\n`. `keep`: up to two newlines in a row stay real, further
   * ones are shown, so that nothing can be pushed out of sight. Whoever prints several lines marks each as quoted.
   */
  readonly newlines?: 'escape' | 'keep';
  /**
   * Show at most so many characters (code points) of the text, from both ends, and say how many are left out: 4 Mi
   * unless told, and never more, or the longest texts would have no string that shows them. What is no number shows none.
   */
  readonly maxCharacters?: number;
  /**
   * It will stand in a line with other text: letters that run from right to left are always escaped, or a renderer would
   * put them, and what stands beside them, in another order.
   */
  readonly isEmbedded?: boolean;
}

/**
 * Any text, safe to print and honest to read: what could move the cursor, hide, reorder or pass for something else is
 * shown as `\n`, `\r`, `\t` or `\u{202E}`, and every backslash of the text itself as `\\`. So different texts are shown
 * differently, and the original can be read back from what is shown, unless it says `\[42 characters left out]`.
 * Letters of one script that look like another's stay as they are: for hosts, `inspectHost` tells.
 */
export function visibleText(text: string, options: VisibleTextOptions = {}): string {
  const manner: Manner = { newlines: options.newlines ?? 'escape', isEmbedded: options.isEmbedded ?? false };
  const limit = characterLimit(options.maxCharacters);
  // A text has at most as many characters as code units; only beyond that is counting worth it.
  const leftOut = text.length <= limit ? 0 : countCharacters(text) - limit;
  if (leftOut <= 0) return showPart(text, manner);

  const tailLength = Math.floor(limit / 3);
  const head = text.slice(0, offsetAfter(text, limit - tailLength));
  const tail = text.slice(offsetBeforeLast(text, tailLength));
  // SECURITY: T-08 — the end stays in sight, and no text can fake the note: its own backslashes are doubled.
  const note = `\\[${leftOut} ${leftOut === 1 ? 'character' : 'characters'} left out]`;
  return showPart(head, manner) + note + (tailLength === 0 ? '' : showPart(tail, manner));
}

/** An escape has up to ten characters, and a JavaScript string fewer than 2^29. */
const MOST_CHARACTERS = 2 ** 22;

function characterLimit(asked: number = MOST_CHARACTERS): number {
  return Number.isNaN(asked) ? 0 : Math.floor(Math.min(Math.max(asked, 0), MOST_CHARACTERS));
}

/** Without an array of them: the longest strings have more characters than an array may have items. */
function countCharacters(text: string): number {
  let count = 0;
  for (let offset = 0; offset < text.length; offset += lengthAt(text, offset)) count += 1;
  return count;
}

function offsetAfter(text: string, characters: number): number {
  let offset = 0;
  for (let passed = 0; passed < characters; passed += 1) offset += lengthAt(text, offset);
  return offset;
}

function offsetBeforeLast(text: string, characters: number): number {
  let offset = text.length;
  for (let passed = 0; passed < characters; passed += 1) offset -= lengthAt(text, offset - 2);
  return offset;
}

function lengthAt(text: string, offset: number): 1 | 2 {
  return (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
}

/** May need a change: all but printable ASCII, a backslash, and spaces side by side or at an edge. */
const NOT_PLAIN = /[^ -[\]-~]|^ | $| {2}/;

// SECURITY: T-08 — everything that leaves no mark of its own on the screen, or lets a renderer do something else:
// control, format (bidi, zero width, tags), surrogate, private and unassigned characters (C), enclosing marks (Me),
// what renderers may ignore (variation selectors, fillers, soft hyphen), spaces and separators other than U+0020 (Z).
const HIDDEN = /[\p{C}\p{Me}\p{Default_Ignorable_Code_Point}]|(?! )\p{Z}/u;

/** Blanks that Unicode counts as letters or symbols, and the combining strokes that cross out a letter. */
const BLANKS_AND_STROKES: ReadonlySet<number> = new Set([
  0x2800, 0xfffc, 0x13441, 0x13442, 0x16fe4, 0x1d159, 0x334, 0x335, 0x336, 0x337, 0x338, 0x20d2, 0x20d3, 0x20d8, 0x20d9,
  0x20da, 0x20e5, 0x20e6, 0x20ea, 0x20eb,
]);

// SECURITY: T-08 — doubles of the backslash could fake our escapes and notes, those of the slash, full stop, colon and
// quote a path, a host or the end of a quotation. Letters that look so (the Katakana no) stay: languages need them.
const SYNTAX_DOUBLES =
  /[\u2216\u2572\u27CD\u29F5\u29F9\u31D4\uFE68\uFF3C\u{1D20F}\u{1D23B}\u1735\u2041\u2044\u2215\u2571\u27CB\u29F8\u31D3\uFF0F\u{1D23A}\u2024\uA789\uFF02]/u;

/** Marks that reach over the next letter, which may be one of ours. */
const SPANS_LETTERS = /[\u035C-\u0362\u1DCD\u1DFC\uFE20-\uFE2F]/;

const MARK = /\p{M}/u;
/** Marks, and the vowels and finals that old Hangul composes with. */
const JOINS_BEFORE = /[\p{M}\u1160-\u11FF\uD7B0-\uD7FF]/u;
const CAN_CARRY_MARKS = /[\p{L}\p{N}]/u;

/** Unicode's own rule of thumb (UTS 39, section 5.4): more marks on one letter are no language. */
const MAX_MARKS = 4;
const MAX_SPACES = 16;
const MAX_NEWLINES = 2;

type Manner = Required<Pick<VisibleTextOptions, 'newlines' | 'isEmbedded'>>;

function showPart(text: string, { newlines, isEmbedded }: Manner): string {
  if (!NOT_PLAIN.test(text)) return text;
  if (newlines === 'escape') return showLine(text, { where: 'alone', isEmbedded });
  const pieces = text.split(/(\n+)/);
  return pieces.map((piece) => showLineOrBreak(piece, isEmbedded)).join('');
}

function showLineOrBreak(piece: string, isEmbedded: boolean): string {
  if (!piece.startsWith('\n')) return showLine(piece, { where: 'among_lines', isEmbedded });
  // SECURITY: T-08 — a screenful of empty lines would hide what follows it.
  return '\\n'.repeat(Math.max(0, piece.length - MAX_NEWLINES)) + piece.slice(0, MAX_NEWLINES);
}

interface Line {
  readonly where: 'alone' | 'among_lines';
  readonly isEmbedded: boolean;
}

/** In a line `alone` a space at the start would not be seen; `among_lines` it is indentation. */
function showLine(line: string, { where, isEmbedded }: Line): string {
  const mixed = isEmbedded || mixesDirections(line);
  const firstSeen = where === 'alone' ? line.length - line.trimStart().length : 0;
  const afterLastSeen = line.trimEnd().length;
  let shown = '';
  let offset = 0;
  let spaces = 0;
  let cluster = '';
  for (const character of line) {
    if (isPlain(character)) {
      [cluster, spaces] = [character, 0];
      shown += character;
      offset += 1;
      continue;
    }
    spaces = character === ' ' ? spaces + 1 : 0;
    cluster = clusterWith(cluster, character);
    // SECURITY: T-08 — long runs of spaces push text out of the window, and those at an edge are not seen at all.
    const unseen = spaces > MAX_SPACES || (spaces > 0 && (offset < firstSeen || offset >= afterLastSeen));
    const reordered = mixed && RIGHT_TO_LEFT.test(character);
    if (unseen || reordered || isDisguised(cluster) || isHidden(character)) {
      shown += escapeOf(character);
      cluster = '';
    } else {
      shown += character === '\\' ? '\\\\' : character;
    }
    offset += character.length;
  }
  return shown;
}

/** Most characters by far: printable ASCII without space and backslash. */
function isPlain(character: string): boolean {
  return character > ' ' && character < '\u007f' && character !== '\\';
}

/** The letter a mark would sit on with the marks it has, and the new character. */
function clusterWith(cluster: string, character: string): string {
  return cluster !== '' && JOINS_BEFORE.test(character) ? cluster + character : character;
}

/**
 * SECURITY: T-08 — marks without a letter would change what stands before them, piles of marks cover their
 * neighbours, and two spellings of one letter (é as one character or two, K and the Kelvin sign) look the same.
 */
function isDisguised(cluster: string): boolean {
  const [base = '', ...marks] = cluster;
  if (MARK.test(base) || (marks.length > 0 && !CAN_CARRY_MARKS.test(base))) return true;
  return marks.length > MAX_MARKS || cluster.normalize('NFC') !== cluster;
}

function isHidden(character: string): boolean {
  if (HIDDEN.test(character) || SYNTAX_DOUBLES.test(character) || SPANS_LETTERS.test(character)) return true;
  return BLANKS_AND_STROKES.has(character.codePointAt(0) ?? 0);
}

/**
 * SECURITY: T-08 — a renderer that meets Hebrew or Arabic between Latin letters or digits reorders both, so a path can
 * be shown in an order in which it does not run. A line in one direction stays as it is.
 */
function mixesDirections(line: string): boolean {
  if (!RIGHT_TO_LEFT.test(line)) return false;
  for (const character of line) {
    if (CAN_CARRY_MARKS.test(character) && !RIGHT_TO_LEFT.test(character)) return true;
  }
  return false;
}

function escapeOf(character: string): string {
  switch (character) {
    case '\n':
      return '\\n';
    case '\r':
      return '\\r';
    case '\t':
      return '\\t';
    default:
      return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`;
  }
}
