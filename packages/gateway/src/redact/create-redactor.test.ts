import { createLogger, Secret, wipeSecret } from '@palyra/primitives';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRedactor, type Redactor } from './create-redactor.ts';
import { secretForms } from './secret-forms.ts';

const KEY = 'Tr0ub4dor&3/"x+é';

function redactorWith(secrets: Readonly<Record<string, string>>): Redactor {
  const redactor = createRedactor();
  for (const [name, value] of Object.entries(secrets)) {
    expect(redactor.hold(name, new Secret(value))).toEqual({ kind: 'masked' });
  }
  return redactor;
}

/** `bytes` cut at these places, which may repeat and come in any order. */
function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const sorted = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
}

function streamed(redactor: Redactor, chunks: readonly Uint8Array[]): string {
  const stream = redactor.redactStream();
  const written = chunks.map((chunk) => Buffer.from(stream.write(chunk)));
  return Buffer.concat([...written, stream.end('whole')]).toString('latin1');
}

const secretText = fc.string({ unit: 'binary', minLength: 12, maxLength: 40 }).map((text) => `k9${text}Zq`);
const ENCODINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => Buffer.from(text).toString('base64'),
  (text) => Buffer.from(text).toString('base64url'),
  (text) => Buffer.from(text).toString('hex'),
  (text) => Buffer.from(text).toString('hex').toUpperCase(),
  (text) => encodeURIComponent(text.toWellFormed()),
  (text) => JSON.stringify(text.toWellFormed()).slice(1, -1),
];

test('a text that is looked at as a whole is what the filters make of it, with and without held secrets', () => {
  const part = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(KEY, `password=${'aB3xY9kQ'.repeat(3)}`, 'eyJ', '-----BEGIN ', `ghp_${'a1B2c3'.repeat(6)} `, 'x'),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), fc.boolean(), (parts, holds) => {
      const redactor = redactorWith(holds ? { key: KEY } : {});
      const text = parts.join('').toWellFormed();
      const filtered = Buffer.from(streamed(redactor, [Buffer.from(text)]), 'latin1').toString('utf8');
      expect(redactor.redactText(text)).toBe(filtered);
    }),
  );
});

test('any chunking of any output gives what the whole gives', () => {
  const piece = (secret: string) =>
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.constantFrom(...ENCODINGS.map((encode) => encode(secret)), secret.slice(0, 5), secret.slice(3)),
      fc.constantFrom(
        `password=${'aB3xY9kQ'.repeat(3)}`,
        'eyJ',
        '-----BEGIN ',
        '://u:p4ss@h',
        `ghp_${'a1B2c3'.repeat(6)} `,
      ),
    );
  const output = secretText.chain((secret) =>
    fc.tuple(
      fc.constant(secret),
      fc.array(piece(secret), { maxLength: 12 }).map((parts) => parts.join('')),
    ),
  );
  fc.assert(
    fc.property(output, fc.array(fc.nat(), { maxLength: 20 }), ([secret, text], cuts) => {
      const redactor = redactorWith({ KEY: secret });
      const bytes = Buffer.from(text);
      const whole = Buffer.from(redactor.redactBytes(bytes)).toString('latin1');
      expect(streamed(redactor, pieces(bytes, cuts))).toBe(whole);
      expect(streamed(redactor, pieces(bytes, [...bytes.keys()]))).toBe(whole);
    }),
    { numRuns: 100 },
  );
});

test('no encoding of a secret comes through, whatever stands around it', () => {
  fc.assert(
    fc.property(
      secretText,
      fc.constantFrom(...ENCODINGS),
      fc.string(),
      fc.string(),
      (secret, encode, before, after) => {
        const redacted = redactorWith({ KEY: secret }).redactText(`<${before}|${encode(secret)}|${after}>`);
        expect(redacted).toContain('[secret:KEY]');
        expect(redacted).not.toContain(encode(secret));
      },
    ),
  );
});

test('a secret inside a longer text that is encoded as a whole is hidden at every alignment', () => {
  const around = fc.uint8Array({ maxLength: 9 });
  fc.assert(
    fc.property(
      secretText,
      around,
      around,
      fc.constantFrom('base64' as const, 'base64url' as const),
      (secret, ...rest) => {
        const [before, after, encoding] = rest;
        const redactor = redactorWith({ KEY: secret });
        const redacted = redactor.redactText(Buffer.concat([before, Buffer.from(secret), after]).toString(encoding));
        const left = redacted.split('[secret:KEY]');
        expect(left.length).toBe(2);
        // Neighbours share at most one character with the secret on each side.
        expect(left[0]?.length).toBeLessThanOrEqual(Math.ceil((before.length * 8) / 6));
        expect(left[1]?.replaceAll('=', '').length).toBeLessThanOrEqual(Math.ceil((after.length * 8) / 6));
      },
    ),
  );
});

test('output without secrets is the same, byte for byte', () => {
  const redactor = redactorWith({ KEY, OTHER: 'another-secret-value' });
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2000 }), fc.array(fc.nat(), { maxLength: 9 }), (bytes, cuts) => {
      expect(streamed(redactor, pieces(bytes, cuts))).toBe(Buffer.from(bytes).toString('latin1'));
    }),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(redactor.redactText(text)).toBe(text);
    }),
  );
  expect(redactor.redactText('half a pair: \ud800.')).toBe('half a pair: \ud800.');
});

// SECURITY: T-24 — whoever prints guesses and watches what comes out at once would else have it letter by letter.
test('how much is held back of a live output does not depend on whether a secret begins in it', () => {
  const heldBack = (text: string) => {
    const stream = redactorWith({ KEY }).redactStream();
    const before = '. '.repeat(2000);
    const told = stream.write(Buffer.from(before)).length + stream.write(Buffer.from(text)).length;
    stream.end('whole');
    return Buffer.byteLength(before + text) - told;
  };
  for (let length = 1; length < KEY.length; length += 1) {
    const right = KEY.slice(0, length);
    const wrong = '#'.repeat(Buffer.byteLength(right));
    expect(heldBack(right)).toBe(heldBack(wrong));
  }
});

test('where no secret is held nothing waits for one, and at the end nothing is missing', () => {
  const free = createRedactor({ detect: 'held_only' }).redactStream();
  expect(Buffer.from(free.write(Buffer.from('Password: '))).toString()).toBe('Password: ');
  const stream = redactorWith({ KEY }).redactStream();
  const written = ['Password: ', 'go Tr', 'y ', 'Tr0ub4', 'dor&3/"x+é!'].map((text) => stream.write(Buffer.from(text)));
  expect(Buffer.concat([...written, stream.end('whole')]).toString()).toBe('Password: go Try [secret:KEY]!');
});

test('line breaks, indentation and wide characters within a secret do not save it', () => {
  const long = Buffer.alloc(200, 'pa55-phrase/').toString();
  const redactor = redactorWith({ KEY: long });
  const base64 = Buffer.from(`user:${long}`).toString('base64').replace(/.{76}/g, '$&\n');
  expect(redactor.redactText(base64)).toBe('dXNlcjp[secret:KEY]');
  expect(redactor.redactText(Buffer.from(long).toString('hex').replace(/.{60}/g, '$&\n    '))).toBe('[secret:KEY]');
  expect(Buffer.from(redactor.redactBytes(Buffer.from(`a${long}`, 'utf16le'))).toString()).toBe('a\0[secret:KEY]\0');
});

test.each([
  ['Gson', 'ab+c/d\\u003d\\u003d'],
  ['Handlebars', 'ab+c/d&#x3D;&#x3D;'],
  ['Mustache', 'ab+c&#x2F;d&#x3D;&#x3D;'],
  ['Razor', 'ab&#x2B;c/d=='],
])('a key in base64 is hidden as %s writes it into an answer', (_, written) => {
  expect(redactorWith({ KEY: 'k9Zq07ab+c/d==' }).maskHeld(`<p>k9Zq07${written}</p>`)).toBe('<p>[secret:KEY]</p>');
});

test('secrets that overlap become one mask with both names; one inside another is not named', () => {
  const redactor = redactorWith({ A: 'alpha-1234-omega', B: 'omega-5678-sigma', IN: '1234-omega' });
  expect(redactor.redactText('x alpha-1234-omega-5678-sigma y')).toBe('x [secret:A,B] y');
  expect(redactor.redactText('x alpha-1234-omega y')).toBe('x [secret:A] y');
});

test('endless repetition of a secret is one mask and keeps nothing', () => {
  const redactor = redactorWith({ KEY: 'abcdabcdabcdabcd' });
  const stream = redactor.redactStream();
  for (let round = 0; round < 200; round += 1) expect(stream.write(Buffer.alloc(4096, 'abcd')).length).toBe(0);
  expect(Buffer.from(stream.end('whole')).toString()).toBe('[secret:KEY]');
});

test('a line of a key file and the password of an address are secrets by themselves', () => {
  const line = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ';
  const redactor = redactorWith({
    FILE: `-----BEGIN X-----\n${line}\n${line}9\n-----END X-----\n`,
    DB: 'pg://u:s3cr%21t-word@h/d',
  });
  expect(redactor.redactText(`grep: ${line}; s3cr!t-word, -----BEGIN X-----`)).toBe(
    'grep: [secret:FILE]; [secret:DB], -----BEGIN X-----',
  );
});

test('what cannot be masked safely is refused', () => {
  const redactor = createRedactor();
  const refusal = (value: string) => redactor.hold('PIN', new Secret(value));
  expect(['1234', '123456', '', 'aaaaaaaaaaaaaaaa', 'true', 'abcde\n'].map((value) => refusal(value).kind)).toEqual(
    Array.from({ length: 6 }, () => 'refused'),
  );
  expect(refusal('x1'.repeat(20_000))).toMatchObject({ kind: 'refused', why: 'too_long' });
  expect(refusal('hunter2')).toEqual({ kind: 'masked' });
});

test('tables do not grow without end', () => {
  const redactor = createRedactor();
  const outcomes = Array.from({ length: 1100 }, (_, n) => redactor.hold(`K${n}`, new Secret(`value-${n}-of-many`)));
  expect(outcomes.filter(({ kind }) => kind === 'masked').length).toBe(1024);
  expect(outcomes.at(-1)).toMatchObject({ kind: 'refused', why: 'too_many' });
  for (let n = 0; n < 1100; n += 1) redactor.release(`K${n}`);
  expect(redactor.hold('LAST', new Secret('value-again')).kind).toBe('masked');
});

test('the same secret under the same name takes one place, however often it is held', () => {
  const redactor = createRedactor();
  for (let n = 0; n < 1100; n += 1) expect(redactor.hold('KEY', new Secret(KEY))).toEqual({ kind: 'masked' });
  expect(redactor.hold('OTHER', new Secret(KEY))).toEqual({ kind: 'masked' });
  redactor.release('KEY');
  const shown = (text: string) => Buffer.from(redactor.maskHeldBytes(Buffer.from(text))).toString();
  // And only what is held is masked there: not what looks like it.
  expect(shown(`a ${KEY} b password=aB3xY9kQ7mN2pL5wR8`)).toBe('a [secret:OTHER] b password=aB3xY9kQ7mN2pL5wR8');
  redactor.hold('KEY', new Secret(KEY));
  expect(shown(KEY)).toBe('[secret:OTHER,KEY]');
});

test('bytes are secrets too, a copy is kept, and a name cannot break out of its mask', () => {
  const redactor = createRedactor({ detect: 'held_only' });
  const secret = new Secret(Uint8Array.from([0xff, 0xfe, 1, 2, 3, 0x80, 0x90, 0xa0]));
  redactor.hold('raw]\n[secret:x', secret);
  const output = Uint8Array.from([65, 0xff, 0xfe, 1, 2, 3, 0x80, 0x90, 0xa0, 66]);
  wipeSecret(secret);
  expect(Buffer.from(redactor.redactBytes(output)).toString()).toBe('A[secret:raw___secret_x]B');
});

test('logs, prompts and records go the same way', () => {
  const redactor = redactorWith({ KEY });
  const lines: string[] = [];
  createLogger({ destination: redactor.redactLog({ write: (line) => lines.push(line) }) }).info(
    { tail: KEY },
    `got ${KEY}`,
  );
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ tail: '[secret:KEY]', message: 'got [secret:KEY]' });
  expect(redactor.redactJson({ argv: ['-p', KEY], [KEY]: 1, n: null, apiKey: 'aB3xY9kQ7mN2pL5wR8' })).toEqual({
    argv: ['-p', '[secret:KEY]'],
    '[secret:KEY]': 1,
    n: null,
    apiKey: '[detected:assigned-secret]',
  });
});

test('forms are few enough to hold many secrets', () => {
  const size = (value: string) => secretForms(Buffer.from(value)).reduce((sum, { length }) => sum + length, 0);
  expect(size(`${'x'.repeat(39)}y`)).toBeLessThan(8 * 1024);
  expect(size('aB+/9x=\n'.repeat(400))).toBeLessThan(128 * 1024);
});
