import type { MaskedOutput } from './masked-output.ts';
import { DIGIT, WORD } from './shape-bytes.ts';
import type { TokenShape } from './token-shapes.ts';

const [BACKSLASH, BRACKET, PERCENT, SEMICOLON, M] = [0x5c, 0x5b, 0x25, 0x3b, 0x6d];
const ESCAPED_BREAKS: ReadonlySet<number> = new Set(Buffer.from('nrtbf'));
const LONGEST_COLOUR = 16;

/** `nextPageToken`, `continuation_token`: random, no secrets, and without them nobody gets to the second page. */
const OF_PAGES = /(?:page|pagination|next|continuation|cursor|sync|resume)[-_]?$/i;
const LONGEST_OF_PAGES = 16;

/** Whether the byte before `from` lets a shape begin there. */
export function standsAfter(output: MaskedOutput, from: number, after: TokenShape['after']): boolean {
  const before = byteAt(output, from - 1);
  if (after === undefined || before === undefined) return after !== 'digit';
  if (after === 'digit') return DIGIT[before] === 1;
  if (after === 'setting') return before !== BRACKET && !OF_PAGES.test(textBefore(output, from));
  return WORD[before] === 0 || endsEscape(output, from);
}

/** The letter before may be the end of `\n`, `%3D` or a colour, as in JSON, query strings and terminals. */
function endsEscape(output: MaskedOutput, from: number): boolean {
  const last = byteAt(output, from - 1) ?? 0;
  if (ESCAPED_BREAKS.has(last) && byteAt(output, from - 2) === BACKSLASH) return true;
  if (byteAt(output, from - 3) === PERCENT) return true;
  if (last !== M) return false;
  for (let back = 2; back < LONGEST_COLOUR; back += 1) {
    const byte = byteAt(output, from - back) ?? 0;
    if (byte === BRACKET) return true;
    if (DIGIT[byte] === 0 && byte !== SEMICOLON) return false;
  }
  return false;
}

function byteAt(output: MaskedOutput, offset: number): number | undefined {
  return output.bytes()[offset - output.base()];
}

function textBefore(output: MaskedOutput, from: number): string {
  const end = from - output.base();
  const bytes = output.bytes().subarray(Math.max(0, end - LONGEST_OF_PAGES), end);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
