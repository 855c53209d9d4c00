/** Random characters, not a row of x, not the vendor's example. */
export function looksLikeToken(value: Uint8Array): boolean {
  return new Set(value).size >= 6 && !isExample(textOf(value));
}

/** For beginnings that words have too: letters alone are words. */
export function looksMixed(value: Uint8Array): boolean {
  return looksLikeToken(value) && /\d/.test(textOf(value)) && /[a-z]/i.test(textOf(value));
}

/** What somebody would set as a secret, as against a name, a path, an id, a version or a piece of code. */
export function looksRandom(value: Uint8Array): boolean {
  const text = textOf(value).replace(/[.=]+$/, '');
  if (text.length < 16 || isExample(text) || isIdentifier(text) || !/[a-z]/i.test(text)) return false;
  if (/^[\da-f]+$/i.test(text)) return /\d/.test(text) && bitsPerCharacter(text) >= LEAST_BITS_OF_HEX;
  const inARow = lettersInARow(text);
  const isRandom = /\d/.test(text) ? inARow < WORDS || isNoName(text) : inARow < WORDS_WITHOUT_DIGIT;
  return isRandom && bitsPerCharacter(text) >= LEAST_BITS;
}

/** Of 16 random characters of 62, one in ten thousand has less. */
const LEAST_BITS = 3.1;
const LEAST_BITS_OF_HEX = 2.7;

/** In front of the at sign of an address. */
export function isPlausiblePassword(value: Uint8Array): boolean {
  const text = textOf(value);
  const password = text.slice(0, text.lastIndexOf('@'));
  return (
    text.includes('@') &&
    password.length >= 2 &&
    !/^(?:\$.*|%[sdv].*|x+|\*+|\.+|pass(?:word|wd)?|pwd?|secret|token|your[-_].*)$/i.test(password)
  );
}

/** The rest of a setting's name may say that it is something about a secret: `token_url`, `passwordHash`. */
export function isSecretSetting(rest: string): boolean {
  return !/(?:hash|digest|sha\d+|md5|fingerprint|checksum|integrity|ids?|names?|types?|ur[il]s?|path|file|len|length|counts?|size|expir\w*|ttl|version|ref|field|header|class|policy|arn|label|hint|pattern|prefix|iz\w*|kind|scope|endpoint|public\w*)$/i.test(
    rest,
  );
}

function textOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1');
}

function isExample(text: string): boolean {
  return /example|placeholder|xxxxx|_here$|\.\.\.|<|your[-_]/i.test(text) || text.includes('012345678901234');
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;
const ULID = /^[0-7][\dA-HJKMNP-TV-Z]{25}$/;

function isIdentifier(text: string): boolean {
  return (
    UUID.test(text) ||
    ULID.test(text) ||
    /^sha(?:1|256|384|512)[-:]/.test(text) ||
    /^(?:https?:|\.{1,2}\/|@[a-z])/.test(text)
  );
}

/**
 * How many characters of a kind stand in a row, on average. Names such as `my-app.prod-2`, `process.env.TOKEN_2` and
 * `authenticationMD5Password` have more than three; random ones of 62 characters have 1.7.
 */
function lettersInARow(text: string): number {
  const pieces = text.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? [];
  return pieces.join('').length / Math.max(pieces.length, 1);
}

const WORDS = 3.2;
const WORDS_WITHOUT_DIGIT = 2.6;

/** Small letters only, in one piece, and a digit where names have none: in front, or in two places. */
function isNoName(text: string): boolean {
  return /^[a-z\d]+$/.test(text) && (/^\d/.test(text) || (text.match(/\d+/g) ?? []).length > 1);
}

/** Shannon's, of the characters as they are. */
function bitsPerCharacter(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  return [...counts.values()].reduce((bits, count) => bits - (count / text.length) * Math.log2(count / text.length), 0);
}
