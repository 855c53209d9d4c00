import { domainToASCII } from 'node:url';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePunycode } from './punycode.ts';

test.each([
  ['egbpdaj6bu4bxfgehfvwxn', 'ليهمابتكلموشعربي؟'],
  ['ihqwcrb4cv8a8dqg056pqjye', '他们为什么不说中文'],
  ['b1abfaaepdrnnbgefbadotcwatmq2g4l', 'почемужеонинеговорятпорусски'],
  ['mnchen-3ya', 'münchen'],
])('%s decodes as published (RFC 3492)', (encoded, expected) => {
  expect(decodePunycode(encoded)).toBe(expected);
});

test.each(['0', '99999999', 'a-!', 'ü', 'zzzzzzzzzzzz'])('%s decodes to nothing', (encoded) => {
  expect(decodePunycode(encoded)).toBeUndefined();
});

test('decoding undoes what Node encodes', () => {
  const label = fc.stringMatching(/^[a-zäöüéčřабвгд漢字日本]{1,12}$/u);
  fc.assert(
    fc.property(label, (unicode) => {
      const ascii = domainToASCII(unicode);
      fc.pre(ascii.startsWith('xn--'));
      expect(decodePunycode(ascii.slice(4))).toBe(unicode);
    }),
  );
});
