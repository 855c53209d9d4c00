/**
 * Lower-case letters that pass for Latin ones in common fonts, by script: a short list after UTS 39's confusables,
 * of what a host can hold after IDNA has folded case and width. Kept to strong look-alikes, so that ordinary Russian
 * or Greek words are not flagged.
 */
const FOREIGN: Readonly<Record<string, string>> = letters(
  // Cyrillic
  'аa сc ԁd еe ҽe ԍg һh іi јj ӏl оo рp ԛq ѕs ԝw ѡw хx уy үy ѵv ьb гr пn ԗp',
  // Greek
  'αa βb ϲc γy ιi ϳj κk νv οo ρp σo τt υu χx ωw ηn',
  // Armenian
  'ոn սu օo հh յj զq ցg աw լl քf',
  // Cherokee, which IDNA folds to its capitals
  'Ꭰd Ꭱr Ꭲt Ꭵi Ꭺa Ꭻj Ꭼe Ꮃw Ꮇm Ꮋh Ꮎo Ꮐg Ꮓz Ꮖe Ꮜu Ꮞ4 Ꮟb Ꮢr Ꮤw Ꮥs Ꮩv Ꮪs Ꮮl Ꮯc Ꮲp Ꮶk Ꮷd Ꮳg',
);

/** Latin letters that pass for plainer ones: phonetic signs, clicks, small capitals, ligatures. */
const LATIN: Readonly<Record<string, string>> = letters(
  'ɑa ɡg ɩi ɪi ɫl ƚl ǀl ɾr ʀr ɴn ʟl ʜh ʙb ɢg ʏy ʋv ɯw ȷj ʃf ƒf ꞓc ƽs ꜱs ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz',
);

/** Letters with a stroke or hook that Unicode does not take apart. Languages write them, so they only count beside a known host. */
const STROKED: Readonly<Record<string, string>> = letters(
  'łl đd ðd ħh øo ŧt ƀb ɓb ƈc ɖd ɗd ɇe ǥg ɠg ɨi ɉj ƙk ɲn ŋn ɵo ƥp ɍr ʂs ƫt ƭt ʉu ʋv ɏy ƴy ƶz ʐz',
);

/**
 * Marks that are easily taken for dust: below the letter, one dot or hook above it. Not the dots that Polish,
 * Lithuanian and Maltese write, and not cedilla and ogonek, which join the letter.
 */
const FAINT_MARK = /^(?:[a-z][\u0323-\u0325\u032D-\u0331\u0309]|[abdfhk-pr-y]\u0307)$/;

/** Vietnamese, Yoruba and Igbo write dots below. */
const FAINT_MARKS_AT_HOME = new Set(['vn', 'ng']);

/** Turkish and Azeri write the dotless i; elsewhere it passes for i or l. */
const DOTLESS_I_AT_HOME = new Set(['tr', 'az']);

/** What a reader would take the label for, when its letters are chosen to be misread; undefined otherwise. */
export function readsAs(label: string, topLabel: string): string | undefined {
  const characters = Array.from(label);
  const foreign = characters.filter((character) => !/[0-9_-]/.test(character));
  if (foreign.length > 0 && foreign.every((character) => Object.hasOwn(FOREIGN, character))) {
    // A top label of the same kind (сахар.рф) tells the reader which script this is.
    return /^[\x21-\x7E]*$/.test(topLabel) ? replaceAll(characters, FOREIGN) : undefined;
  }
  const dotlessI = label.includes('ı') && !DOTLESS_I_AT_HOME.has(topLabel);
  const special = characters.some((character) => Object.hasOwn(LATIN, character));
  const faint = !FAINT_MARKS_AT_HOME.has(topLabel) && characters.some(hasFaintMark);
  if (dotlessI || special || faint) {
    const plain = characters.map((character) =>
      hasFaintMark(character) ? character.normalize('NFKD').charAt(0) : character,
    );
    return replaceAll(plain, LATIN).replaceAll('ı', 'i');
  }
  return looksSpelledWithDigits(label) ? label.replaceAll('0', 'o').replaceAll('1', 'l') : undefined;
}

function hasFaintMark(character: string): boolean {
  return character > '\u007f' && FAINT_MARK.test(character.normalize('NFKD'));
}

/** Equal for texts that look alike; only good for comparing. */
export function skeletonOf(text: string): string {
  const plain = replaceAll(Array.from(text.normalize('NFD').replace(/\p{M}/gu, '')), {
    ...STROKED,
    ...FOREIGN,
    ...LATIN,
  });
  const joined = plain.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd');
  return joined.replaceAll('0', 'o').replace(/[1iı]/g, 'l');
}

/** `g00gle`, `micr0soft`: 0 and 1 inside a word and no other digit. `web01`, `s3` and `d111abc8` are ordinary names. */
function looksSpelledWithDigits(label: string): boolean {
  const letterCount = label.replace(/[^a-z]/g, '').length;
  return letterCount >= 4 && /[a-z][01]+[a-z]/.test(label) && !/[2-9]/.test(label);
}

function replaceAll(characters: readonly string[], table: Readonly<Record<string, string>>): string {
  return characters.map((character) => (Object.hasOwn(table, character) ? table[character] : character)).join('');
}

/** Pairs of a look-alike and the letter it passes for, separated by spaces. */
function letters(...lists: readonly string[]): Readonly<Record<string, string>> {
  const pairs = lists
    .join(' ')
    .split(' ')
    .map((pair) => Array.from(pair));
  return Object.fromEntries(pairs.map(([from = '', to = '']) => [from, to]));
}
