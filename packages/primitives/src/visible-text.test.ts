import fc from 'fast-check';
import { expect, test } from 'vitest';
import { visibleText } from './visible-text.ts';

/** The inverse: reads the original back from what is shown. */
function originalOf(shown: string): string {
  const names: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };
  return shown.replace(
    /\\(?:u\{([0-9A-F]+)\}|([nrt\\]))/g,
    (_all, hex: string | undefined, name: string | undefined) =>
      name === undefined ? String.fromCodePoint(Number.parseInt(hex ?? '', 16)) : (names[name] ?? ''),
  );
}

const nasty = fc.constantFrom(
  '\\',
  'u',
  '{',
  '}',
  'n',
  ' ',
  '  ',
  '\n',
  '\r',
  '\t',
  '\u0000',
  '\u001b',
  '\u009b',
  '\u007f',
  '\u00a0',
  '\u00ad',
  '\u0301',
  '\u0338',
  '\u200b',
  '\u200d',
  '\u202e',
  '\u2066',
  '\u2028',
  '\ufe0f',
  '\u{e0041}',
  '\ud800',
  '\udc00',
  '\u2800',
  '\u3164',
  '\ufeff',
  '\uffff',
  '\ue000',
  '\u0378',
  '\u212a',
  '\u1100',
  '\u1161',
  'e',
  'é',
  'א',
  'ع',
  '1',
  '漢',
  'я',
  '😀',
  '\uff3c',
  '\u2044',
  '\u0361',
  '\\u{202E}',
  '\\[1 character left out]',
);

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.array(nasty, { maxLength: 30 }).map((pieces) => pieces.join('')),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
);

const newlines = fc.constantFrom('escape' as const, 'keep' as const);

test.each([
  'rm -rf ./build && echo done',
  'C:/Users/Zoë/naïve.txt',
  'Привет, мир',
  '日本語とハングル 한글',
  'हिन्दी में लिखा',
  'ประเทศไทย',
  'Tiếng Việt'.normalize('NFC'),
  'שלום עולם',
  'مرحبا بالعالم',
  'ok 👍 → “quoted” — ½ €',
  '',
])('ordinary text stays as it is: %s', (text) => {
  expect(visibleText(text)).toBe(text);
});

test.each([
  ['terminal escapes', '\u001b[2J\u001b]0;x\u0007', '\\u{1B}[2J\\u{1B}]0;x\\u{7}'],
  ['C1 controls', 'a\u009b31m\u0085', 'a\\u{9B}31m\\u{85}'],
  ['backspace, delete and null', 'rm\b\u007f\u0000', 'rm\\u{8}\\u{7F}\\u{0}'],
  ['newlines and tabs', 'a\nb\r\nc\td\r', 'a\\nb\\r\\nc\\td\\r'],
  ['a backslash', 'C:\\new', 'C:\\\\new'],
  ['a text that looks like our escape', '\\u{202E}', '\\\\u{202E}'],
  ['bidi controls', 'a\u202eb\u2066c\u061cd\u200fe', 'a\\u{202E}b\\u{2066}c\\u{61C}d\\u{200F}e'],
  [
    'zero width characters',
    'a\u200bb\u200cc\u200dd\u2060e\ufefff',
    'a\\u{200B}b\\u{200C}c\\u{200D}d\\u{2060}e\\u{FEFF}f',
  ],
  ['tag characters', 'x\u{e0001}\u{e0041}\u{e007f}', 'x\\u{E0001}\\u{E0041}\\u{E007F}'],
  ['variation selectors', 'a\ufe0fb\u{e0100}c\u180b', 'a\\u{FE0F}b\\u{E0100}c\\u{180B}'],
  ['invisible operators', 'f\u2061x\u2062y\u2063z\u2064', 'f\\u{2061}x\\u{2062}y\\u{2063}z\\u{2064}'],
  ['a soft hyphen', 'pay\u00adpal', 'pay\\u{AD}pal'],
  ['Hangul fillers', '\u115f\u1160\u3164\uffa0', '\\u{115F}\\u{1160}\\u{3164}\\u{FFA0}'],
  ['blanks that count as letters', 'a\u2800b\u{1d159}c\u{13441}', 'a\\u{2800}b\\u{1D159}c\\u{13441}'],
  ['spaces other than the space', 'a\u00a0b\u2003c\u3000d\u1680', 'a\\u{A0}b\\u{2003}c\\u{3000}d\\u{1680}'],
  ['line and paragraph separators', 'a\u2028b\u2029', 'a\\u{2028}b\\u{2029}'],
  ['lone surrogates', 'a\ud800b\udfff', 'a\\u{D800}b\\u{DFFF}'],
  ['noncharacters', '\ufffe\uffff\ufdd0\u{10ffff}', '\\u{FFFE}\\u{FFFF}\\u{FDD0}\\u{10FFFF}'],
  ['private use', '\ue000\u{f0000}', '\\u{E000}\\u{F0000}'],
  ['unassigned characters', '\u0378\u{e0fff}', '\\u{378}\\u{E0FFF}'],
  ['enclosing marks and strokes', 'o\u20dd o\u0338', 'o\\u{20DD} o\\u{338}'],
  [
    'doubles of the backslash',
    'a\uff3cn\u2216n\u29f5n\ufe68n\u29f9n',
    'a\\u{FF3C}n\\u{2216}n\\u{29F5}n\\u{FE68}n\\u{29F9}n',
  ],
  ['doubles of the slash', 'a\u2044\u2215\u29f8\uff0fb', 'a\\u{2044}\\u{2215}\\u{29F8}\\u{FF0F}b'],
  ['doubles of full stop, colon and quote', 'a\u2024b\ua789c\uff02', 'a\\u{2024}b\\u{A789}c\\u{FF02}'],
  [
    'marks that span two letters',
    'a\u035cb\u035dc\u035ed\u035fe\u0360f\u0361g\u0362h',
    'a\\u{35C}b\\u{35D}c\\u{35E}d\\u{35F}e\\u{360}f\\u{361}g\\u{362}h',
  ],
  ['a mark without a letter', '\u0301a "\u0301', '\\u{301}a "\\u{301}'],
  ['a mark after an escape', '\u200b\u0301', '\\u{200B}\\u{301}'],
  ['a second spelling of a letter', 'e\u0301 \u212a \u1112\u1161', 'e\\u{301} \\u{212A} \u1112\\u{1161}'],
  ['spaces at the edges', ' a  b  ', '\\u{20}a  b\\u{20}\\u{20}'],
  ['only a space', ' ', '\\u{20}'],
])('%s are shown', (_what, text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

test('piles of marks are shown from the fifth on', () => {
  expect(visibleText(`q${'\u0323'.repeat(7)}r`)).toBe(`q${'\u0323'.repeat(4)}\\u{323}\\u{323}\\u{323}r`);
});

test('a run of spaces is shown from the seventeenth on', () => {
  expect(visibleText(`a${' '.repeat(18)}b`)).toBe(`a${' '.repeat(16)}\\u{20}\\u{20}b`);
});

test('right-to-left letters among Latin letters or digits are shown, because their order on screen would lie', () => {
  expect([visibleText('/tmp/א/1'), visibleText('א ב'), visibleText('a\nא', { newlines: 'keep' })]).toEqual([
    '/tmp/\\u{5D0}/1',
    'א ב',
    'a\nא',
  ]);
});

test('kept newlines stay lines, carriage returns are shown, and empty lines cannot pile up', () => {
  const text = 'if x:\r\n    y\n\nz \n\n\n\n\nrm -rf /';
  expect(visibleText(text, { newlines: 'keep' })).toBe('if x:\\r\n    y\n\nz\\u{20}\\n\\n\\n\n\nrm -rf /');
});

test('text over the limit keeps both ends and says exactly how much is left out', () => {
  expect([
    visibleText('abcdefghij', { maxCharacters: 10 }),
    visibleText('abcdefghij', { maxCharacters: 9 }),
    visibleText('abcdefghij', { maxCharacters: 6 }),
    visibleText('😀😀😀😀', { maxCharacters: 4 }),
    visibleText('😀😀😀😀', { maxCharacters: 3 }),
    visibleText('abc', { maxCharacters: 0 }),
    visibleText('abc', { maxCharacters: 1 }),
  ]).toEqual([
    'abcdefghij',
    'abcdef\\[1 character left out]hij',
    'abcd\\[4 characters left out]ij',
    '😀😀😀😀',
    '😀😀\\[1 character left out]😀',
    '\\[3 characters left out]',
    'a\\[2 characters left out]',
  ]);
});

test.each([
  ['no number', Number.NaN, '\\[6 characters left out]'],
  ['negative', -1, '\\[6 characters left out]'],
  ['minus infinity', Number.NEGATIVE_INFINITY, '\\[6 characters left out]'],
  ['a fraction', 1.5, 'a\\[5 characters left out]'],
  ['infinity', Number.POSITIVE_INFINITY, 'abcdef'],
])('a limit that is %s shows no more than it allows', (_what, maxCharacters, shown) => {
  expect(visibleText('abcdef', { maxCharacters })).toBe(shown);
});

test('characters of two code units and halves of them are counted from both ends alike', () => {
  fc.assert(
    fc.property(anyText, fc.nat(20), (text, limit) => {
      const characters = Array.from(text);
      fc.pre(characters.length > limit);
      const tailLength = Math.floor(limit / 3);
      const head = visibleText(characters.slice(0, limit - tailLength).join(''));
      const tail = visibleText(characters.slice(characters.length - tailLength).join(''));
      const shown = visibleText(text, { maxCharacters: limit });
      expect([shown.startsWith(head), shown.endsWith(tail)]).toEqual([true, true]);
    }),
  );
});

test.each([
  ['words', 'hello '.repeat(4_000_000)],
  ['one word', 'a'.repeat(16_000_000)],
  ['spaces', ' '.repeat(2_000_000)],
  ['marks', '\u0301'.repeat(1_000_000)],
])('a text of millions of characters is shown: %s', (_what, text) => {
  expect([
    visibleText(`${text}x`, { maxCharacters: 10 }).length < 150,
    visibleText(`${text}x`).endsWith('x'),
    visibleText(`${text}x\n`, { newlines: 'keep' }).endsWith('x\n'),
  ]).toEqual([true, true, true]);
});

test('a text too long for its escapes to fit into a string is shown from both ends', () => {
  const shown = visibleText('\u0000'.repeat(80_000_000));
  expect(shown.length).toBe(2 ** 22 * 5 + `\\[${80_000_000 - 2 ** 22} characters left out]`.length);
});

test('a text cannot fake the note about what is left out', () => {
  expect(visibleText('\\[9 characters left out]')).toBe('\\\\[9 characters left out]');
});

test('the original can be read back, so no two texts are shown alike', () => {
  fc.assert(
    fc.property(anyText, newlines, (text, mode) => {
      expect(originalOf(visibleText(text, { newlines: mode }))).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test('nothing that hides, moves or reorders is left in what is shown', () => {
  fc.assert(
    fc.property(anyText, newlines, fc.option(fc.nat(30), { nil: Number.POSITIVE_INFINITY }), (text, mode, limit) => {
      const shown = visibleText(text, { newlines: mode, maxCharacters: limit });
      const lines = mode === 'keep' ? shown.replaceAll('\n', '') : shown;
      expect(lines).not.toMatch(/\p{C}|\p{Zl}|\p{Zp}|(?! )\p{Zs}|\p{Default_Ignorable_Code_Point}|\p{Me}|\u2800/u);
      expect(shown).not.toMatch(/\n{3}| {17}| $| \n|\p{M}{5}/u);
      expect(shown.normalize('NFC')).toBe(shown);
    }),
    { numRuns: 500 },
  );
});

test('the number left out and the characters shown add up to the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, limit) => {
      const shown = visibleText(text, { maxCharacters: limit });
      const note = /(?<!\\)(?:\\\\)*\\\[(\d+) characters? left out\]/.exec(shown);
      const leftOut = Number(note?.[1] ?? 0);
      const total = Array.from(text).length;
      expect(leftOut).toBe(Math.max(0, total - limit));
    }),
  );
});

test('every assigned format or control character of Unicode is escaped', () => {
  for (let codePoint = 0; codePoint <= 0x10ffff; codePoint += 1) {
    const character = String.fromCodePoint(codePoint);
    if (!/[\p{Cc}\p{Cf}\p{Cs}]|\p{Default_Ignorable_Code_Point}/u.test(character)) continue;
    if (/^a\\(?:u\{[0-9A-F]+\}|[nrt])b$/.test(visibleText(`a${character}b`))) continue;
    expect.fail(`U+${codePoint.toString(16)} is not escaped`);
  }
});

test('what stands among other text has no letters that run the other way', () => {
  expect(visibleText('שלום')).toBe('שלום');
  expect(visibleText('שלום', { isEmbedded: true })).toBe(String.raw`\u{5E9}\u{5DC}\u{5D5}\u{5DD}`);
});
