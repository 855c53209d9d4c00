/** T-08: what a human is shown is not what would run: hidden, reordered, overwritten, pushed out of sight, look-alike. */
import { createLogger, inspectHost, visibleText } from '@palyra/primitives';
import { expect, test } from 'vitest';

/** What a terminal or browser acts on instead of showing it. */
const ACTS = /\p{C}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/u;

test.each([
  ['erases the line it stands on', 'rm -rf / #\u001b[2K\u001b[1Gls'],
  ['erases it with one C1 character', 'rm -rf / #\u009b2K\u009b1Gls'],
  ['returns to the start and writes over it', 'rm -rf /\rls -la   '],
  ['backs over it', 'rm -rf /\b\b\b\b\b\b\b\bls -la  '],
  ['turns its order around', 'echo \u202e/ fr- mr\u202c'],
  ['isolates and turns it around', 'echo \u2067/ fr- mr\u2069'],
  [
    'hides a flag in tag characters',
    `ls ${String.fromCodePoint(...Array.from('--rm', (c) => 0xe0000 + (c.codePointAt(0) ?? 0)))}`,
  ],
  ['hides data in variation selectors', 'ls\u{e0148}\u{e0155}'],
  ['splits a word with nothing', 'r\u200bm -r\u2060f /'],
  ['hides in a soft hyphen', 'pay\u00adpal'],
  ['pretends a filler is a blank', 'ls\u3164-la\u2800/'],
  ['starts a second line', 'ls\nrm -rf /'],
  ['starts a second line by a separator', 'ls\u2028rm -rf /'],
])('a command that %s shows all it holds', (_how, command) => {
  const shown = visibleText(command);
  expect(shown).not.toMatch(ACTS);
  expect(shown).toMatch(/\\/);
});

test('a second command cannot be pushed out of sight by spaces or empty lines', () => {
  const spaces = visibleText(`ls${' '.repeat(5_000)}; rm -rf /`);
  const lines = visibleText(`ls${'\n'.repeat(500)}rm -rf /`, { newlines: 'keep' });
  expect(spaces).not.toMatch(/ {17}/);
  expect(lines).not.toMatch(/\n{3}/);
});

test('a long text shows its end, and how much is missing in between', () => {
  const shown = visibleText(`echo ${'a'.repeat(10_000)}; rm -rf /`, { maxCharacters: 60 });
  expect(shown).toBe(`echo ${'a'.repeat(35)}\\[9955 characters left out]${'a'.repeat(10)}; rm -rf /`);
});

test('a text cannot claim to be an escape, or a note, of ours', () => {
  expect([visibleText('\\u{202E}'), visibleText('\\n'), visibleText('\\[0 characters left out]')]).toEqual([
    '\\\\u{202E}',
    '\\\\n',
    '\\\\[0 characters left out]',
  ]);
});

test.each(['\uff3c', '\u2216', '\u29f5', '\ufe68', '\u29f9'])(
  'nor can it with a character that looks like a backslash: %s',
  (double) => {
    const shown = visibleText(`rm -rf x${double}[42 characters left out]; ok${double}n`);
    expect(shown).not.toContain(double);
    expect(shown).toMatch(/^[\x20-\x7e]*$/);
  },
);

test('a text of many megabytes cannot make the prompt fail', () => {
  const shown = visibleText(`${'hello '.repeat(3_000_000)}; rm -rf /`, { maxCharacters: 60 });
  expect(shown).toMatch(/\\\[17999950 characters left out\].*; rm -rf \/$/);
});

test('two commands that a human could not tell apart are not shown alike', () => {
  const alike = ['cat café', 'cat cafe\u0301', 'cat café ', 'cat café\u200b', 'cat\u00a0café', 'cat\u2003café'];
  expect(new Set(alike.map((text) => visibleText(text).replace(/ +$/, '').normalize('NFC'))).size).toBe(alike.length);
});

test('Hebrew between Latin letters cannot turn a path around', () => {
  expect(visibleText('/srv/א/../../etc')).toBe('/srv/\\u{5D0}/../../etc');
});

test.each([
  ['all letters Cyrillic', 'аррӏе.com'],
  ['the same, already in punycode', 'xn--80ak6aa92e.com'],
  ['one letter Cyrillic', 'githuь.com'],
  ['Greek omicrons', 'gοοgle.com'],
  ['a slash that is none', 'github.com⁄login.evil.example'],
  ['a hidden character', 'git\u00adhub.com'],
  ['a number that is an address', '2130706433'],
  ['a full stop that is one after all', 'github。com'],
  ['a dot below a letter', 'pạypal.com'],
  ['a letter that passes for a dot', 'evilꞏcom.example'],
  ['a letter that passes for an apostrophe', 'ʼa.com'],
  ['user part before the real host', 'github.com@evil.example'],
])('a host with %s is flagged and not shown as the host it imitates', (_how, host) => {
  const { shown, warnings } = inspectHost(host);
  expect(warnings).not.toEqual([]);
  expect(shown).toMatch(/^[\x21-\x7e]*$/);
});

test('a log line cannot command the terminal it is read in', () => {
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line) => lines.push(line) } });
  log.info({ argv: ['\u001b]0;owned\u0007', '\u009b2J', '\u202e'] }, 'proposed\n{"level":"info","message":"approved"}');
  expect(lines.length).toBe(1);
  expect(lines[0]?.slice(0, -1)).toMatch(/^[\x20-\x7e]+$/);
});
