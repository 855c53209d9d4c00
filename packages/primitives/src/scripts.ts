/** The blocks whose letters run right to left. */
export const RIGHT_TO_LEFT: RegExp = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;

/**
 * Which scripts a label is written in, after UTS 39 section 5.1: a label may be read in every script that all its
 * characters belong to, and Han counts for each language that writes it.
 */
const SCRIPTS: Readonly<Record<string, string>> = {
  Latin: 'Latn',
  Greek: 'Grek',
  Cyrillic: 'Cyrl',
  Armenian: 'Armn',
  Georgian: 'Geor',
  Hebrew: 'Hebr',
  Arabic: 'Arab',
  Syriac: 'Syrc',
  Thaana: 'Thaa',
  Devanagari: 'Deva',
  Bengali: 'Beng',
  Gurmukhi: 'Guru',
  Gujarati: 'Gujr',
  Oriya: 'Orya',
  Tamil: 'Taml',
  Telugu: 'Telu',
  Kannada: 'Knda',
  Malayalam: 'Mlym',
  Sinhala: 'Sinh',
  Thai: 'Thai',
  Lao: 'Laoo',
  Tibetan: 'Tibt',
  Myanmar: 'Mymr',
  Khmer: 'Khmr',
  Ethiopic: 'Ethi',
  Cherokee: 'Cher',
  Mongolian: 'Mong',
  Coptic: 'Copt',
  Hangul: 'Hang',
  Hiragana: 'Hira',
  Katakana: 'Kana',
  Bopomofo: 'Bopo',
  Han: 'Hani',
};

/** The mixtures of UTS 39's «highly restrictive» level: Japanese, Chinese and Korean, each with Latin. */
const ALLOWED_MIXTURES: readonly (readonly string[])[] = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
];

const RARE = 'rare';
const SHARED = /[\p{sc=Zyyy}\p{sc=Zinh}]/u;

/** The scripts that appear, in the order of our table; what several share (digits, hyphen, accents) does not count. */
export function scriptsOf(label: string): readonly string[] {
  const found = new Set(
    Array.from(label, scriptsOfCharacter)
      .filter((set) => set.length === 1)
      .flat(),
  );
  return Object.keys(SCRIPTS).filter((name) => found.has(name));
}

/** Historic and rare scripts, which UTS 39 leaves out of identifiers. */
export function hasRareScript(label: string): boolean {
  return Array.from(label, scriptsOfCharacter).flat().includes(RARE);
}

/** One script, or one of the mixtures that people really write. */
export function isHighlyRestrictive(label: string): boolean {
  const sets = Array.from(label, scriptsOfCharacter).filter((set) => set.length > 0);
  const covers = (allowed: readonly string[]): boolean =>
    sets.every((set) => set.some((name) => allowed.includes(name)));
  const first = sets[0];
  if (first === undefined) return true;
  return first.some((name) => covers([name])) || ALLOWED_MIXTURES.some(covers);
}

/** Digits of two systems in one label: some look like other digits of the other (the Arabic 5 like our 0). */
export function mixesDigits(label: string): boolean {
  return /[0-9]/.test(label) && /(?![0-9])\p{Nd}/u.test(label);
}

/** Empty when the character is shared by all scripts. */
function scriptsOfCharacter(character: string): readonly string[] {
  if (character < '\u0080') return /[a-z]/i.test(character) ? ['Latin'] : [];
  const names = [...membership()].filter(([, belongs]) => belongs.test(character)).map(([name]) => name);
  if (names.length > 0) return names;
  return SHARED.test(character) ? [] : [RARE];
}

let memberships: ReadonlyMap<string, RegExp> | undefined;

/** Made when a label is first looked at: it takes longer than all else that a process or thread loads from here. */
function membership(): ReadonlyMap<string, RegExp> {
  memberships ??= new Map(Object.entries(SCRIPTS).map(([name, code]) => [name, new RegExp(`\\p{scx=${code}}`, 'u')]));
  return memberships;
}
