import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTokenDetector } from './detect-tokens.ts';
import type { DetectorPositive } from './detector-report.ts';
import { TOKEN_SHAPES } from './token-shapes.ts';

const { detectTokens } = createTokenDetector(TOKEN_SHAPES);

function detected(chunks: readonly string[], how: 'whole' | 'cut' = 'whole'): string {
  const filter = detectTokens();
  const written = chunks.map((chunk) => Buffer.from(filter.write(Buffer.from(chunk, 'latin1'))));
  return Buffer.concat([...written, filter.end(how)]).toString('latin1');
}

const VECTORS = new URL('../../../../tests/vectors/redact/positives.json', import.meta.url);
const positives: readonly DetectorPositive[] = JSON.parse(readFileSync(VECTORS, 'utf8'));
const texts = positives.map(({ before, secret, after }) => before + secret.join('') + after);

test('any chunking finds the same tokens', () => {
  const output = fc.array(fc.oneof(fc.constantFrom(...texts), fc.string({ maxLength: 8 })), { maxLength: 6 });
  fc.assert(
    fc.property(output, fc.array(fc.nat(), { maxLength: 20 }), (parts, cuts) => {
      const text = Buffer.from(parts.join('')).toString('latin1');
      const ends = [...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((a, b) => a - b);
      const whole = detected([text]);
      expect(detected(ends.map((end, index) => text.slice(ends[index - 1] ?? 0, end)))).toBe(whole);
      expect(detected(text.split(''))).toBe(whole);
    }),
    { numRuns: 200 },
  );
});

test('a prompt for a password is not held back, the password is', () => {
  const filter = detectTokens();
  const write = (text: string) => Buffer.from(filter.write(Buffer.from(text))).toString();
  expect([write('password: '), write('aB3xY9kQ7mN2'), write('pL5wR8\n')]).toEqual([
    'password: ',
    '',
    '[detected:assigned-secret]\n',
  ]);
});

test('a key file is hidden while it comes, and never kept', () => {
  const filter = detectTokens();
  const write = (text: string) => Buffer.from(filter.write(Buffer.from(text))).toString();
  write('-----BEGIN PRIVATE KEY-----\n');
  for (let line = 0; line < 1000; line += 1) expect(write(`${'Ab3/x+Zq'.repeat(8)}\n`)).toBe('');
  expect(write('-----END PRIVATE KEY-----\nnext\n')).toBe('[detected:private-key]\nnext\n');
});

test('what follows a token is read again', () => {
  const token = `ghp_${'a1B2c3'.repeat(6)}`;
  expect(detected([`${token} ${token},${token}.`])).toBe(
    '[detected:github-token] [detected:github-token],[detected:github-token].',
  );
});

test('at a cut a token that has begun is hidden', () => {
  expect(detected([`x ghp_${'a1B2c3'.repeat(3)}`], 'cut')).toBe('x [detected:github-token]');
  expect(detected([`x ghp_${'a1B2c3'.repeat(3)}`])).toBe(`x ghp_${'a1B2c3'.repeat(3)}`);
});

test('only the password of an address is hidden, up to the last at sign', () => {
  expect(detected(['postgres://app:p@ss:w0rd@db:5432/x?y=1'])).toBe(
    'postgres://app:[detected:url-password]@db:5432/x?y=1',
  );
});

test('text that keeps beginning and never is a token stays as it is', () => {
  for (const begin of ['eyJ', 'token', 'token=', '://a:', '-----BEGIN ', 'eyJabcdefghijk.', 'sk-', 'password: ']) {
    const text = begin.repeat(20_000);
    expect({ begin, isSame: detected([text]) === text }).toEqual({ begin, isSame: true });
  }
});
