import { readsAs, skeletonOf } from './look-alike-letters.ts';
import { decodePunycode } from './punycode.ts';
import { hasRareScript, isHighlyRestrictive, mixesDigits, RIGHT_TO_LEFT, scriptsOf } from './scripts.ts';
import { visibleText } from './visible-text.ts';

/** A reason not to take a host for what it looks like. Labels are Unicode and may need `visibleText`. */
export type HostWarning =
  /** Not a host at all; `ascii` is undefined. */
  | { readonly kind: 'not_a_host' }
  /** What was written is not what will be connected to: hidden characters, full-width letters, a disguised IP address. */
  | { readonly kind: 'rewritten' }
  /** A label begins with `xn--` and is not the punycode of anything. */
  | { readonly kind: 'bad_punycode'; readonly label: string }
  /** Letters of scripts that no language writes together. */
  | { readonly kind: 'mixed_scripts'; readonly label: string; readonly scripts: readonly string[] }
  /** Every letter is of one foreign script and passes for a Latin one. */
  | { readonly kind: 'whole_script'; readonly label: string; readonly readsAs: string }
  /** Latin letters made to pass for others, or digits among letters (`micr0soft`). */
  | { readonly kind: 'look_alike_letters'; readonly label: string; readonly readsAs: string }
  /** Symbols, doubles of separators, loose marks and rare scripts, which can pass for a slash, a dot or a part of a letter. */
  | { readonly kind: 'odd_characters'; readonly label: string }
  /** Right-to-left and left-to-right letters: the order on the screen may not be the real one. */
  | { readonly kind: 'mixed_directions' }
  /** Looks like a host the operator knows, and is another. */
  | { readonly kind: 'resembles'; readonly known: string };

export interface HostInspection {
  /** What is really connected to, in ASCII (A-labels, lower case); undefined when it is no host. */
  readonly ascii: string | undefined;
  /** What to show a human: Unicode when nothing is suspicious, ASCII otherwise. */
  readonly shown: string;
  readonly warnings: readonly HostWarning[];
}

export interface InspectHostOptions {
  /** Hosts the operator already trusts, in ASCII: names that only look like them are flagged. */
  readonly known?: readonly string[];
}

/** Never throws. A warning is for the eyes of the approver; policy decides on `ascii`. */
export function inspectHost(host: string, { known = [] }: InspectHostOptions = {}): HostInspection {
  const ascii = toAscii(host);
  if (ascii === undefined) {
    return { ascii, shown: visibleText(host, { maxCharacters: 253 }), warnings: [{ kind: 'not_a_host' }] };
  }
  // An IPv6 address has many honest spellings and no letters to misread.
  if (ascii.startsWith('[')) return { ascii, shown: ascii, warnings: [] };

  const labels = ascii.split('.').map(toUnicodeLabel);
  const unicode = labels.join('.');
  const topLabel = labels.findLast((label) => label !== '') ?? '';
  const warnings: HostWarning[] = [
    ...inspectSpelling(host, { ascii, unicode }),
    ...labels.flatMap((label) => inspectLabel(label, topLabel)),
    ...inspectDirections(unicode),
    ...known.filter((other) => resembles(ascii, other)).map((other) => ({ kind: 'resembles', known: other }) as const),
  ];
  // SECURITY: T-08 — as browsers do: a doubtful name is shown in the form that cannot pass for another.
  return { ascii, shown: warnings.length === 0 ? unicode : ascii, warnings };
}

/** Delimiters would let the URL parser take another part of the text for the host; `%` would be decoded. */
const NOT_IN_A_HOST = /[\p{Cc} /\\?#@%<>^|`{}"]/u;
const IPV6 = /^(?=[^[].*[^\]]$|\[.*\]$)\[?([0-9a-fA-F:.]*:[0-9a-fA-F:.]*)\]?$/;

function toAscii(host: string): string | undefined {
  const ipv6 = IPV6.exec(host)?.[1];
  const written = ipv6 === undefined ? host : `[${ipv6}]`;
  if (host === '' || NOT_IN_A_HOST.test(host) || (ipv6 === undefined && /[:[\]]/.test(host))) return undefined;
  const ascii = URL.parse(`http://${written}/`)?.hostname;
  // Again after IDNA, which maps small and full-width forms to delimiters.
  if (ascii === undefined || ascii.length > 255 || NOT_IN_A_HOST.test(ascii)) return undefined;
  const hasEmptyLabel = /^\.|\.\./.test(ascii);
  return hasEmptyLabel ? undefined : ascii;
}

function toUnicodeLabel(label: string): string {
  if (!label.startsWith('xn--')) return label;
  const decoded = decodePunycode(label.slice(4));
  // Only what encodes back to the same label was meant by it; the rest is left as it stands and flagged.
  return decoded !== undefined && toAscii(decoded) === label ? decoded : label;
}

function inspectSpelling(host: string, meant: { readonly ascii: string; readonly unicode: string }): HostWarning[] {
  // A name has two honest spellings, each in any case: its ASCII and its Unicode one. (Cherokee folds upwards.)
  const written = host.toLowerCase();
  if (written === meant.ascii || written.normalize('NFC') === meant.unicode.toLowerCase()) return [];
  return [{ kind: 'rewritten' }];
}

/** Counted among the letters, and seen as apostrophes, colons, dots, exclamation marks or specks beside one. */
const PUNCTUATION_DOUBLES =
  /[\u01C1-\u01C3\u02B0-\u02FF\u0559\u1D2C-\u1D6A\u1D78\u1D9B-\u1DBF\uA70D-\uA721\uA770\uA788-\uA78C\uA78F\uA7F2-\uA7F9\uAB5C-\uAB5F]/;
const ORDINARY = /^[\p{L}\p{M}\p{N}_-]*$/u;
/** Wanted by Catalan, Japanese and Hebrew spelling, and nothing outside of it. */
const MIDDLE_DOTS = /(?<=l)\u00B7(?=l)|(?<=[\p{sc=Hira}\p{sc=Kana}\p{sc=Han}])\u30FB|(?<=\p{sc=Hebr})[\u05F3\u05F4]/gu;
/** Letters that pass for a slash, a dash or a dot as soon as no East Asian letter stands beside them. */
const SEPARATOR_DOUBLES =
  /(?<![\p{sc=Hira}\p{sc=Kana}\p{sc=Han}\p{sc=Bopo}\u30FC])[\u4E00\u4E36\u4E3F\u30CE\u30FC\u3033-\u3035\u31D3\u3128](?![\p{sc=Hira}\p{sc=Kana}\p{sc=Han}\p{sc=Bopo}\u30FC])/u;
/** A mark that did not compose, on a letter of a script whose accented letters all do. */
const LOOSE_MARK = /[\p{sc=Latn}\p{sc=Cyrl}\p{sc=Grek}\p{N}_-]\p{Mn}|^\p{M}|\p{Mn}{5}/u;

function inspectLabel(label: string, topLabel: string): HostWarning[] {
  if (label.startsWith('xn--')) return [{ kind: 'bad_punycode', label }];
  const warnings: HostWarning[] = hasOddCharacters(label) ? [{ kind: 'odd_characters', label }] : [];
  const scripts = scriptsOf(label);
  if (!isHighlyRestrictive(label)) {
    warnings.push({ kind: 'mixed_scripts', label, scripts });
    return warnings;
  }
  const reading = readsAs(label, topLabel);
  if (reading !== undefined) {
    const kind = scripts.includes('Latin') ? 'look_alike_letters' : 'whole_script';
    warnings.push({ kind, label, readsAs: reading });
  }
  return warnings;
}

function hasOddCharacters(label: string): boolean {
  if (!ORDINARY.test(label.replace(MIDDLE_DOTS, '')) || hasRareScript(label)) return true;
  if (PUNCTUATION_DOUBLES.test(label)) return true;
  return SEPARATOR_DOUBLES.test(label) || LOOSE_MARK.test(label) || mixesDigits(label);
}

function inspectDirections(unicode: string): HostWarning[] {
  if (!RIGHT_TO_LEFT.test(unicode) || !/[\p{sc=Latn}0-9]/u.test(unicode)) return [];
  return [{ kind: 'mixed_directions' }];
}

function resembles(ascii: string, known: string): boolean {
  const name = unicodeName(ascii);
  const knownName = unicodeName(known.toLowerCase());
  if (name === knownName) return false;
  return skeletonOf(name) === skeletonOf(knownName) || differsInOneForeignLetter(name, knownName);
}

function unicodeName(ascii: string): string {
  return ascii.replace(/\.$/, '').split('.').map(toUnicodeLabel).join('.');
}

/** Below it, names that share all letters but one are ordinary neighbours. */
const SHORTEST_COMPARED = 8;

/** One letter that no keyboard of the known name's owner has (łoogle for google): too much of a coincidence. */
function differsInOneForeignLetter(name: string, known: string): boolean {
  const characters = Array.from(name);
  const knownCharacters = Array.from(known);
  if (characters.length !== knownCharacters.length || characters.length < SHORTEST_COMPARED) return false;
  const different = characters.filter((character, index) => character !== knownCharacters[index]);
  return different.length === 1 && different.every((character) => character > '\u007f');
}
