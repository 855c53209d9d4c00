import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inspectHost } from './host-look-alikes.ts';

/** The kinds of warnings a host gets. */
const kinds = (host: string): string[] => inspectHost(host).warnings.map((warning) => warning.kind);

test.each([
  'example.com',
  'EXAMPLE.com',
  'example.com.',
  'api-1.eu-west_2.s3.amazonaws.com',
  'web01.example.com',
  'd111111abcdef8.cloudfront.net',
  'localhost',
  '127.0.0.1',
  '[::1]',
  'münchen.de',
  'xn--mnchen-3ya.de',
  'straße.de',
  'пример.рф',
  'правительство.рф',
  'москва.com',
  'сахар.рф',
  'παράδειγμα.gr',
  '日本語ドメイン.jp',
  'ニュースabc.jp',
  '中文abc.cn',
  'ㄅㄆ台灣.tw',
  '한국어漢字.kr',
  'ラーメン.jp',
  'kızılay.org.tr',
  'xarxa.paral·lel.cat',
  'भारत.in',
  'học.vn',
  'łódź.pl',
  'żółw.pl',
  'ėjimas.lt',
  'façade.fr',
])('%s gives no reason for doubt', (host) => {
  const { ascii, warnings } = inspectHost(host);
  expect({ ascii, warnings }).toEqual({ ascii: domainToASCII(host), warnings: [] });
});

test('a name without doubt is shown in its own script, a doubtful one in ASCII', () => {
  expect([inspectHost('xn--mnchen-3ya.de').shown, inspectHost('аррӏе.com').shown]).toEqual([
    'münchen.de',
    'xn--80ak6aa92e.com',
  ]);
});

test('a name of only Cyrillic look-alikes tells what it would be read as', () => {
  const expected = {
    ascii: 'xn--80ak6aa92e.com',
    shown: 'xn--80ak6aa92e.com',
    warnings: [{ kind: 'whole_script', label: 'аррӏе', readsAs: 'apple' }],
  };
  expect([inspectHost('аррӏе.com'), inspectHost('xn--80ak6aa92e.com')]).toEqual([expected, expected]);
});

test('Latin with one Cyrillic letter tells both scripts', () => {
  expect(inspectHost('pаypal.com')).toEqual({
    ascii: 'xn--pypal-4ve.com',
    shown: 'xn--pypal-4ve.com',
    warnings: [{ kind: 'mixed_scripts', label: 'pаypal', scripts: ['Latin', 'Cyrillic'] }],
  });
});

test.each([
  ['gοοgle.com', 'Latin with Greek omicron', ['mixed_scripts']],
  ['νοκια.com', 'all Greek look-alikes', ['whole_script']],
  ['օո.com', 'all Armenian look-alikes', ['whole_script']],
  ['ꭺꮲꮲꮮꭼ.com', 'all Cherokee look-alikes', ['whole_script']],
  ['скоpa.рф', 'Cyrillic with Latin p and a', ['mixed_scripts']],
  ['日本я.jp', 'Han with Cyrillic', ['mixed_scripts']],
  ['한カ.kr', 'Hangul with Katakana', ['mixed_scripts']],
  ['aㄅか.com', 'Bopomofo with Hiragana', ['mixed_scripts']],
  ['ɡoogle.com', 'the phonetic g', ['look_alike_letters']],
  ['paypaǀ.com', 'a click for an l', ['look_alike_letters']],
  ['wıkipedia.org', 'a dotless i outside Turkey', ['look_alike_letters']],
  ['pạypal.com', 'a dot below', ['look_alike_letters']],
  ['ḳ.com', 'a dot below', ['look_alike_letters']],
  ['paẏpal.com', 'a dot above that no language writes', ['look_alike_letters']],
  ['evilꞏcom.example', 'a letter that passes for a dot', ['odd_characters']],
  ['ʼa.com', 'a letter that passes for an apostrophe', ['odd_characters']],
  ['helloǃ.com', 'a letter that passes for an exclamation mark', ['odd_characters']],
  ['g00gle.com', 'zeros for o', ['look_alike_letters']],
  ['micr0soft.com', 'a zero for o', ['look_alike_letters']],
  ['i❤.ws', 'a symbol', ['odd_characters']],
  ['example.com⁄path.evil.com', 'a fraction slash', ['odd_characters']],
  ['example.com∕path.evil.com', 'a division slash', ['odd_characters']],
  ['example.comノpath.evil.com', 'a Katakana letter that passes for a slash', ['odd_characters']],
  ['ȧ̧b.com'.normalize('NFC'), 'a loose mark, and a faint one', ['odd_characters', 'look_alike_letters']],
  ['ᚠᚢᚦ.com', 'a historic script', ['odd_characters']],
  ['१23.com', 'digits of two systems', ['odd_characters']],
  ['שלום.com', 'two directions', ['mixed_directions']],
  ['exam\u00adple.com', 'a hidden soft hyphen', ['rewritten']],
  ['goo\u2060gle.com', 'a hidden word joiner', ['rewritten']],
  ['ｇoogle.com', 'a full-width letter', ['rewritten']],
  ['example。com', 'an ideographic full stop', ['rewritten']],
  ['2130706433', 'a decimal address', ['rewritten']],
  ['0x7f.1', 'a hexadecimal address', ['rewritten']],
  ['0177.0.0.1', 'an octal address', ['rewritten']],
  ['１２７.0.0.1', 'full-width digits', ['rewritten']],
  ['xn--a.com', 'punycode of a control character', ['bad_punycode']],
  ['xn--0.com', 'punycode cut short', ['bad_punycode']],
])('%s is doubted: %s', (host, _why, expected) => {
  expect(kinds(host)).toEqual(expected);
});

test.each([
  '',
  '.',
  'a..b',
  ' example.com',
  'good.com@evil.com',
  'evil.com/good.com',
  'evil.com\\good.com',
  'evil.com#good.com',
  'evil.com?good.com',
  'evil.com:443',
  'ex%61mple.com',
  'exa mple.com',
  'exa\nmple.com',
  'exa\u0000mple.com',
  'exa\u200dmple.com',
  '1.2.3.256',
  '[::1',
  '[::zz]',
  'a'.repeat(300),
])('%j is not a host', (host) => {
  const { ascii, warnings } = inspectHost(host);
  expect({ ascii, warnings }).toEqual({ ascii: undefined, warnings: [{ kind: 'not_a_host' }] });
});

test('what is not a host is shown with nothing hidden', () => {
  expect(inspectHost('exa\u202emple.com/').shown).toBe('exa\\u{202E}mple.com/');
});

test.each(['paypa1.com', 'paypai.com', 'pаypal.com', 'páypal.com', 'xn--pypal-4ve.com', 'PAYPA1.com.'])(
  '%s resembles a host the operator knows',
  (host) => {
    expect(inspectHost(host, { known: ['example.org', 'paypal.com'] }).warnings).toContainEqual({
      kind: 'resembles',
      known: 'paypal.com',
    });
  },
);

test.each([
  ['rnicrosoft.com', 'microsoft.com'],
  ['vvikipedia.org', 'wikipedia.org'],
])('%s resembles %s by letters that join', (host, known) => {
  expect(inspectHost(host, { known: [known] }).warnings).toEqual([{ kind: 'resembles', known }]);
});

test.each(['łoogle.com', 'googłe.com', 'gøøgle.com', 'xn--oogle-j7a.com'])('%s resembles google.com', (host) => {
  expect(inspectHost(host, { known: ['google.com'] }).warnings).toEqual([{ kind: 'resembles', known: 'google.com' }]);
});

test('what a faint mark hides is told', () => {
  expect(inspectHost('pạypal.com').warnings).toEqual([
    { kind: 'look_alike_letters', label: 'pạypal', readsAs: 'paypal' },
  ]);
});

test('a known host, in any case and with a final dot, does not resemble itself', () => {
  const known = ['paypal.com', 'example.org'];
  expect([inspectHost('PayPal.com', { known }).warnings, inspectHost('paypal.com.', { known }).warnings]).toEqual([
    [],
    [],
  ]);
});

const anyHost = fc.oneof(
  fc.domain(),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }).map((label) => `${label}.com`),
  fc.stringMatching(/^xn--[a-z0-9-]{0,12}$/).map((label) => `${label}.com`),
  fc.ipV4Extended(),
  fc.ipV6(),
);

test('whatever is asked, the answer comes without throwing and what is shown hides nothing', () => {
  fc.assert(
    fc.property(anyHost, (host) => {
      const { ascii, shown, warnings } = inspectHost(host);
      expect(shown).not.toMatch(/\p{C}|(?! )\p{Z}|\p{Default_Ignorable_Code_Point}/u);
      expect(ascii ?? 'none').toMatch(/^[\x21-\x7e]+$/);
      expect(warnings.some((warning) => warning.kind === 'not_a_host')).toBe(ascii === undefined);
    }),
    { numRuns: 2_000 },
  );
});

test('the ASCII form of a host is inspected like the host itself', () => {
  fc.assert(
    fc.property(anyHost, (host) => {
      const first = inspectHost(host);
      fc.pre(first.ascii !== undefined);
      const again = inspectHost(first.ascii ?? '');
      const unspelled = first.warnings.filter((warning) => warning.kind !== 'rewritten');
      expect({ ascii: again.ascii, warnings: again.warnings }).toEqual({ ascii: first.ascii, warnings: unspelled });
    }),
    { numRuns: 1_000 },
  );
});
