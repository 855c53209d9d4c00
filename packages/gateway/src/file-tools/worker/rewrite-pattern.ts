import { FileFailure } from './file-failure.ts';

/**
 * The same language in the few words that a linear-time engine takes: no captures, no counted repetitions, no flags.
 * What has no such spelling (look-around, back references) is refused by name. Throws `FileFailure`.
 */
export function rewritePattern(pattern: string, options: RewriteOptions): string {
  const rewrite: Rewrite = { text: pattern, at: 0, depth: 0, ignoreCase: options.ignoreCase };
  const rewritten = alternatives(rewrite);
  if (rewrite.at < pattern.length) throw refused('It closes a group that it did not open.');
  return rewritten;
}

export interface RewriteOptions {
  readonly ignoreCase: boolean;
}

interface Rewrite {
  readonly text: string;
  readonly ignoreCase: boolean;
  at: number;
  depth: number;
}

const MAX_REPEAT = 256;
const MAX_LENGTH = 20_000;
const MAX_DEPTH = 50;
const QUANTIFIER = /([*+?])|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/y;
const ESCAPE = /\\(?:[dDwWsSbB]|[tnrfv]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^\w\s]|[ ])/y;

function alternatives(rewrite: Rewrite): string {
  const parts = [sequence(rewrite)];
  while (rewrite.text[rewrite.at] === '|') {
    rewrite.at += 1;
    parts.push(sequence(rewrite));
  }
  return parts.join('|');
}

function sequence(rewrite: Rewrite): string {
  let written = '';
  for (;;) {
    const next = rewrite.text[rewrite.at];
    if (next === undefined || next === '|' || next === ')') return written;
    const isAnchor = next === '^' || next === '$' || /^\\[bB]/.test(rewrite.text.slice(rewrite.at, rewrite.at + 2));
    const piece = atom(rewrite);
    written += isAnchor ? piece : repeated(rewrite, piece);
    if (written.length > MAX_LENGTH) throw refused('Written out, it is too long.');
  }
}

function atom(rewrite: Rewrite): string {
  const next = rewrite.text[rewrite.at] ?? '';
  if (next === '(') return group(rewrite);
  if (next === '[') return characterClass(rewrite);
  if (next === '\\') return anyCase(escaped(rewrite), rewrite);
  if (/[*+?]/.test(next)) throw refused('It repeats nothing.');
  rewrite.at += 1;
  if (next === '.' || next === '^' || next === '$') return next;
  return anyCase(/[{}\]/]/.test(next) ? `\\${next}` : next, rewrite);
}

function group(rewrite: Rewrite): string {
  const opened = /\((?:\?(?:<[A-Za-z_]\w*>|:))?/y;
  opened.lastIndex = rewrite.at;
  const opening = opened.exec(rewrite.text)?.[0] ?? '(';
  rewrite.at += opening.length;
  if (opening === '(' && rewrite.text[rewrite.at] === '?') {
    throw refused('Look-around and flags inside a pattern are not supported.');
  }
  rewrite.depth += 1;
  if (rewrite.depth > MAX_DEPTH) throw refused('Its groups are nested too deep.');
  const inner = alternatives(rewrite);
  rewrite.depth -= 1;
  if (rewrite.text[rewrite.at] !== ')') throw refused('It does not close a group.');
  rewrite.at += 1;
  return `(?:${inner})`;
}

function escaped(rewrite: Rewrite): string {
  ESCAPE.lastIndex = rewrite.at;
  const found = ESCAPE.exec(rewrite.text)?.[0];
  if (found === undefined) {
    throw refused('Back references, properties (\\p) and unknown escapes are not supported.');
  }
  rewrite.at += found.length;
  return found;
}

/** What was matched once, as often as the quantifier behind it says. */
function repeated(rewrite: Rewrite, piece: string): string {
  QUANTIFIER.lastIndex = rewrite.at;
  const found = QUANTIFIER.exec(rewrite.text);
  if (found === null) return piece;
  rewrite.at += found[0].length;
  const isLazy = rewrite.text[rewrite.at] === '?';
  if (isLazy) rewrite.at += 1;
  if (/[*+?]/.test(rewrite.text[rewrite.at] ?? '')) throw refused('It repeats a repetition without a group.');
  const [, sign, least, comma, most] = found;
  const lazy = isLazy ? '?' : '';
  if (sign !== undefined) return `${piece}${sign}${lazy}`;
  const min = Number(least);
  const max = comma === undefined ? min : most === undefined ? Infinity : Number(most);
  return counted(piece, { min, max, lazy });
}

function counted(
  piece: string,
  { min, max, lazy }: { readonly min: number; readonly max: number; readonly lazy: string },
): string {
  const largest = max === Infinity ? min : max;
  if (max < min) throw refused('It repeats between more and fewer times.');
  if (largest > MAX_REPEAT || piece.length * largest > MAX_LENGTH) {
    throw refused(`It repeats more than ${MAX_REPEAT} times, or too long a part.`);
  }
  const required = piece.repeat(min);
  if (max === Infinity) return `${required}${piece}*${lazy}`;
  const optional = max - min;
  return `${required}${`(?:${piece}`.repeat(optional)}${`)?${lazy}`.repeat(optional)}`;
}

function anyCase(piece: string, { ignoreCase }: Rewrite): string {
  if (!ignoreCase || piece.length !== 1) return piece;
  const both = casesOf(piece);
  return both.length === 1 ? piece : `[${both.join('')}]`;
}

function casesOf(character: string): readonly string[] {
  const all = [character, character.toLowerCase(), character.toUpperCase()];
  return [...new Set(all.filter((each) => each.length === 1))];
}

/** Copied member by member; with `ignoreCase` each has its other case beside it. */
function characterClass(rewrite: Rewrite): string {
  rewrite.at += 1;
  const isNegated = rewrite.text[rewrite.at] === '^';
  if (isNegated) rewrite.at += 1;
  let members = '';
  while (rewrite.text[rewrite.at] !== ']') {
    const from = member(rewrite);
    const isRange = rewrite.text[rewrite.at] === '-' && (rewrite.text[rewrite.at + 1] ?? ']') !== ']';
    if (isRange) rewrite.at += 1;
    const to = isRange ? member(rewrite) : undefined;
    members += to === undefined ? asMember(from, rewrite) : asRange(from, to, rewrite);
  }
  rewrite.at += 1;
  return `[${isNegated ? '^' : ''}${members}]`;
}

function member(rewrite: Rewrite): string {
  const next = rewrite.text[rewrite.at];
  if (next === undefined) throw refused('It does not close a character class.');
  if (next === '\\') {
    const found = escaped(rewrite);
    // In a class, b is backspace for some and a mistake for all others.
    if (/^\\[bB]$/.test(found)) throw refused('A character class cannot hold a word boundary.');
    return found;
  }
  rewrite.at += 1;
  return /[-[\]^]/.test(next) ? `\\${next}` : next;
}

function asMember(piece: string, { ignoreCase }: Rewrite): string {
  return ignoreCase && piece.length === 1 ? casesOf(piece).join('') : piece;
}

function asRange(from: string, to: string, { ignoreCase }: Rewrite): string {
  const isSet = (piece: string) => /^\\[dDwWsS]$/.test(piece);
  if (isSet(from) || isSet(to)) throw refused('A range cannot begin or end with a class.');
  if (from.length === 1 && to.length === 1 && from > to) throw refused('A range ends before it begins.');
  if (!ignoreCase) return `${from}-${to}`;
  const others = ['az', 'AZ'].flatMap((letters) => {
    const [low, high] = [
      from > (letters[0] ?? '') ? from : (letters[0] ?? ''),
      to < (letters[1] ?? '') ? to : (letters[1] ?? ''),
    ];
    if (from.length !== 1 || to.length !== 1 || low > high) return [];
    const swap = letters === 'az' ? (each: string) => each.toUpperCase() : (each: string) => each.toLowerCase();
    return [`${swap(low)}-${swap(high)}`];
  });
  return `${from}-${to}${others.join('')}`;
}

function refused(reason: string): FileFailure {
  return new FileFailure('file.pattern_refused', `The pattern cannot be searched for in linear time. ${reason}`, {
    fix: 'Use a plainer regular expression, or kind "literal".',
  });
}
