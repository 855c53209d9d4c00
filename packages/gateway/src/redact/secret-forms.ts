/**
 * How a secret may look in output: as it is, and as programs commonly write it. Every form is without the bytes of
 * `GAPS`, because matching skips them; so line-wrapped base64, `xxd -p`, indented PEM and UTF-16 need no forms of their own.
 *
 * What is absent on purpose: encodings only somebody who wants to get around this would use. An agent that holds a
 * secret can always write it backwards; that it never holds one is the vault's and the egress proxy's work.
 */
export function secretForms(value: Uint8Array): Uint8Array[] {
  const forms = value.length <= LONGEST_WITH_ALL_FORMS ? allForms(value) : usualForms(value);
  const ofParts = valuableParts(value).flatMap(usualForms);
  const unique = new Set([...forms, ...ofParts].map(withoutGaps).filter((form) => form.length >= SHORTEST_FORM));
  return [...unique].map((form) => Buffer.from(form, 'latin1'));
}

/** Passwords and tokens. Key files have thousands of bytes, and every form costs memory for each of them. */
const LONGEST_WITH_ALL_FORMS = 256;

function allForms(value: Uint8Array): ByteText[] {
  const raw = Buffer.from(value).toString('latin1');
  const text = [...textForms(value), ...percentForms(raw), ...shellForms(raw), ...byteEscapes(raw)];
  const base64 = base64Forms(value, 'with_endings').flatMap(inAllAlphabets);
  return [...text, ...base64, ...hexForms(value), ...hexForms(value).flatMap(hexPairs)];
}

function usualForms(value: Uint8Array): ByteText[] {
  const [json = ''] = jsonForms(Buffer.from(value).toString('utf8'));
  const once = [json, json.replaceAll('/', '\\/'), JSON.stringify(json).slice(1, -1)];
  const [component = ''] = percentForms(Buffer.from(value).toString('latin1'));
  const base64 = base64Forms(value, 'without_endings').flatMap(inBothAlphabets);
  return [Buffer.from(value).toString('latin1'), ...once.map(utf8), component, ...base64, ...hexForms(value)];
}

/** NUL, tab, newline, carriage return, space. */
export const GAPS: Uint8Array = gapTable();

function gapTable(): Uint8Array {
  const table = new Uint8Array(256);
  for (const gap of [0, 9, 10, 13, 32]) table[gap] = 1;
  return table;
}

/** Below it a form would be found by chance. */
const SHORTEST_FORM = 6;

/** Of the texts here every character is one byte. */
type ByteText = string;

function withoutGaps(text: ByteText): ByteText {
  return text.replace(/[\0\t\n\r ]+/g, '');
}

/** Programs print one line of a key file, or the password of an address, without the rest. */
function valuableParts(value: Uint8Array): Uint8Array[] {
  const text = Buffer.from(value).toString('latin1');
  const lines = text.includes('\n') ? text.split(/\s+/).filter((line) => /^[\w+/=.-]{20,}$/.test(line)) : [];
  const password = /^[a-z][a-z\d+.-]*:\/\/[^\s/:@]*:([^\s/@]{8,})@/i.exec(text)?.[1];
  const passwords = password === undefined ? [] : [password, percentDecoded(password)];
  return [...lines.filter((line) => !line.startsWith('-----')), ...passwords].map((part) =>
    Buffer.from(part, 'latin1'),
  );
}

function percentDecoded(text: ByteText): ByteText {
  return text.replace(/%([\da-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function textForms(value: Uint8Array): ByteText[] {
  const text = Buffer.from(value).toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(value);
  return [
    Buffer.from(value).toString('latin1'),
    ...(isText ? [...[...jsonForms(text), ...markupForms(text)].map(utf8), ...wideForms(text)] : []),
  ];
}

function utf8(text: string): ByteText {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** UTF-16 in both byte orders. ASCII in it is only gaps away from itself. */
function wideForms(text: string): ByteText[] {
  const little = Buffer.from(text, 'utf16le');
  return [little.toString('latin1'), Buffer.from(little).swap16().toString('latin1')];
}

function jsonForms(text: string): string[] {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replace(/[^ -~]/g, unicodeEscape);
  const once = [
    plain,
    ascii,
    ascii.replaceAll('/', '\\/'),
    // Go and many web frameworks; .NET escapes more, with capitals.
    ascii.replace(/[<>&]/g, unicodeEscape),
    // Gson.
    ascii.replace(/[<>&=']/g, unicodeEscape),
    ascii.replace(/[<>&'+`]|\\"/g, (found) => unicodeEscape(found.slice(-1)).toUpperCase().replace('\\U', '\\u')),
  ];
  const twice = [plain, ascii].map((form) => JSON.stringify(form).slice(1, -1));
  return [...once, ...twice];
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function markupForms(text: string): string[] {
  const named = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = named.replaceAll('"', '&quot;');
  const quotes = ['&#39;', '&#x27;', '&apos;'].map((quote) => quoted.replaceAll("'", quote));
  return [named, quoted, ...quotes, named.replaceAll('"', '&#34;').replaceAll("'", '&#39;'), ...templateForms(quoted)];
}

/** Handlebars, Mustache and Razor: of keys in base64 they write the plus, the slash or the padding as numbers. */
function templateForms(quoted: string): string[] {
  const numbered = (signs: RegExp) => quoted.replace(signs, (sign) => `&#x${hexOf(sign).toUpperCase()};`);
  return [numbered(/['`=]/g), numbered(/['`=/]/g), numbered(/['+]/g)];
}

function percentForms(raw: ByteText): ByteText[] {
  const kept = [/[^\w.!~*'()-]/g, /[^\w.~-]/g, /[^\w.~/-]/g, /[^\w.~!$&'()*+,;=:@/-]/g];
  const upper = kept.map((reserved) => raw.replace(reserved, (character) => `%${hexOf(character).toUpperCase()}`));
  const lower = kept.map((reserved) => raw.replace(reserved, (character) => `%${hexOf(character)}`));
  const once = [...upper, ...lower];
  return [
    ...once,
    ...once.map((form) => form.replaceAll('%20', '+')),
    ...upper.map((form) => form.replaceAll('%', '%25')),
  ];
}

function hexOf(character: ByteText): string {
  return character.charCodeAt(0).toString(16).padStart(2, '0');
}

/** As `set -x`, `printf %q`, `declare -p`, SQL and people quote. */
function shellForms(raw: ByteText): ByteText[] {
  return [
    raw.replaceAll("'", "'\\''"),
    raw.replaceAll("'", `'"'"'`),
    raw.replaceAll("'", "''"),
    raw.replaceAll("'", "\\'"),
    raw.replace(/["$\\`]/g, '\\$&'),
    raw.replace(/["$\\`!]/g, '\\$&'),
    raw.replace(/[^\w@%+=:,./-]/g, '\\$&'),
  ];
}

/** Byte strings as Python and C write them, and quoted-printable. */
function byteEscapes(raw: ByteText): ByteText[] {
  const escaped = raw.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
  const printable = escaped.replace(/[^ -~]/g, (character) => `\\x${hexOf(character)}`);
  const quoted = raw.replace(/[^ -<>-~\r\n\t]/g, (character) => `=${hexOf(character).toUpperCase()}`);
  return [printable, printable.replaceAll("'", "\\'"), quoted];
}

function hexForms(value: Uint8Array): ByteText[] {
  const lower = Buffer.from(value).toString('hex');
  return [lower, lower.toUpperCase()];
}

function hexPairs(hex: ByteText): ByteText[] {
  return [hex.replace(/..(?=.)/g, '$&:'), hex.replace(/../g, '\\x$&')];
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * In a longer text that is encoded as a whole, a secret begins at one of three places of a group. The characters that
 * no neighbour has a say in are the same wherever it stands. The one before them keeps up to four bits of the secret;
 * the one behind them too, without endings.
 */
function base64Forms(value: Uint8Array, how: 'with_endings' | 'without_endings'): ByteText[] {
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([new Uint8Array(before), value]).toString('base64');
    const bits = (before + value.length) * 8;
    const own = encoded.slice(Math.ceil((before * 8) / 6), Math.floor(bits / 6));
    const last = BASE64.indexOf(encoded.charAt(Math.floor(bits / 6)));
    return how === 'with_endings' ? [own, ...endings(own, last, bits % 6)] : [own];
  });
}

/** The last character with every value its neighbour may give it, and the padding, which would tell of the length. */
function endings(own: ByteText, last: number, knownBits: number): ByteText[] {
  if (knownBits === 0) return [];
  const shared = Array.from({ length: 2 ** (6 - knownBits) }, (_, low) => own + BASE64.charAt(last | low));
  const padding = knownBits === 2 ? ['=', '=='] : ['='];
  return [...shared, ...padding.map((signs) => own + BASE64.charAt(last) + signs)];
}

function inBothAlphabets(form: ByteText): ByteText[] {
  return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
}

/** The standard one also inside a URL, and inside JSON that escapes slashes. */
function inAllAlphabets(form: ByteText): ByteText[] {
  const inUrl = form.replaceAll('+', '%2B').replaceAll('/', '%2F').replaceAll('=', '%3D');
  return [...inBothAlphabets(form), inUrl, form.replaceAll('/', '\\/')];
}
