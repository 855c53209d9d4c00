/** T-24: a credential that a tool was lent, or found, comes back in its output, and from there into logs and prompts. */
import { readFileSync } from 'node:fs';
import { createLogger, Secret } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createRedactor, type Redactor } from '../../packages/gateway/src/redact/create-redactor.ts';
import { REDACT_CORPUS } from '../vectors/redact/make-corpus.ts';

const VALUE = `sk/9+Vault "quoted" $value é 'x'`;

function redactorHolding(value: string = VALUE): Redactor {
  const redactor = createRedactor();
  expect(redactor.hold('DEPLOY', new Secret(value))).toEqual({ kind: 'masked' });
  return redactor;
}

const bytes = (text: string): Buffer => Buffer.from(text);
const text = (output: Uint8Array): string => Buffer.from(output).toString();

const hex = bytes(VALUE).toString('hex');

test.each([
  ['as it is', VALUE],
  ['as base64', bytes(VALUE).toString('base64')],
  ['as base64 for URLs', bytes(VALUE).toString('base64url')],
  ['as base64 in a URL', encodeURIComponent(bytes(VALUE).toString('base64'))],
  [
    'as base64 in lines',
    `${bytes(VALUE).toString('base64').slice(0, 20)}\n${bytes(VALUE).toString('base64').slice(20)}`,
  ],
  ['as hex', hex],
  ['as hex in capitals', hex.toUpperCase()],
  ['as hex in lines, like xxd -p', `${hex.slice(0, 30)}\n${hex.slice(30)}`],
  ['as hex in pairs', hex.replace(/..(?=.)/g, '$&:')],
  ['percent-encoded', encodeURIComponent(VALUE)],
  ['percent-encoded in small letters', encodeURIComponent(VALUE).replace(/%../g, (each) => each.toLowerCase())],
  ['as a form', new URLSearchParams({ v: VALUE }).toString().slice(2)],
  ['as JSON', JSON.stringify(VALUE).slice(1, -1)],
  ['as JSON within JSON', JSON.stringify(JSON.stringify(VALUE).slice(1, -1)).slice(1, -1)],
  ['as JSON in ASCII', JSON.stringify(VALUE).slice(1, -1).replace('é', '\\u00e9')],
  ['as HTML', VALUE.replaceAll('"', '&quot;').replaceAll("'", '&#39;')],
  ['quoted for a shell', VALUE.replaceAll("'", "'\\''")],
  ['as quoted-printable', VALUE.replace('é', '=C3=A9')],
  ['as bytes of Python', VALUE.replace('é', '\\xc3\\xa9').replaceAll("'", "\\'")],
])('a lent secret printed %s is masked, and the mask tells neither length nor form', (_how, printed) => {
  expect(redactorHolding().redactText(`<${printed}>`)).toBe('<[secret:DEPLOY]>');
});

test.each([0, 1, 2, 3, 4, 5])('a secret within something encoded as a whole, %i bytes from its beginning', (offset) => {
  const encoded = bytes(`${'user:'.slice(0, offset)}${VALUE}\n`).toString('base64');
  const redacted = redactorHolding().redactText(encoded);
  expect(redacted).toContain('[secret:DEPLOY]');
  expect(redacted.replace('[secret:DEPLOY]', '').length).toBeLessThanOrEqual(Math.ceil((offset * 8) / 6) + 4);
});

test('a secret cut in two at any byte, or written byte by byte, does not pass', () => {
  const redactor = redactorHolding();
  const output = bytes(`before ${VALUE} after`);
  for (const at of output.keys()) {
    const stream = redactor.redactStream();
    const parts = [stream.write(output.subarray(0, at)), stream.write(output.subarray(at)), stream.end('whole')];
    expect(parts.map(text).join('')).toBe('before [secret:DEPLOY] after');
  }
  const stream = redactor.redactStream();
  const parts = [...output].map((byte) => stream.write(Uint8Array.of(byte)));
  expect([...parts, stream.end('whole')].map(text).join('')).toBe('before [secret:DEPLOY] after');
});

test('output that is cut within a secret does not show its first half', () => {
  const stream = redactorHolding().redactStream();
  const parts = [stream.write(bytes(`before ${VALUE.slice(0, 12)}`)), stream.end('cut')];
  expect(parts.map(text).join('')).toBe('before [secret:DEPLOY]');
});

test('a secret that is lent while the output runs is masked, also when it begins in what is held back', () => {
  const redactor = redactorHolding('sk/9+Vault-other');
  const stream = redactor.redactStream();
  const first = text(stream.write(bytes('out: sk/9+Vau')));
  redactor.hold('LATER', new Secret('sk/9+Vault-later'));
  expect(first + [stream.write(bytes('lt-later.')), stream.end('whole')].map(text).join('')).toBe(
    'out: [secret:LATER].',
  );
});

test('a secret that is taken back while the output runs is still masked in it, and forgotten afterwards', () => {
  const redactor = redactorHolding();
  const stream = redactor.redactStream();
  const first = text(stream.write(bytes(`a ${VALUE.slice(0, 9)}`)));
  redactor.release('DEPLOY');
  const rest = [stream.write(bytes(`${VALUE.slice(9)} b ${VALUE} `)), stream.end('whole')].map(text).join('');
  expect(first + rest).toBe('a [secret:DEPLOY] b [secret:DEPLOY] ');
  expect(redactor.redactText(VALUE)).toBe(VALUE);
});

test('masks are no oracle: a PIN is refused instead of standing out among all PINs', () => {
  const redactor = createRedactor();
  expect(redactor.hold('PIN', new Secret('4711'))).toMatchObject({ kind: 'refused', why: 'guessable' });
  expect(redactor.hold('CODE', new Secret('471147'))).toMatchObject({ kind: 'refused', why: 'guessable' });
  const all = Array.from({ length: 10_000 }, (_, pin) => String(pin).padStart(4, '0')).join('\n');
  expect(redactor.redactText(all)).toBe(all);
});

test('a secret that is called by its own value is not told by its mask', () => {
  const redactor = createRedactor();
  redactor.hold('hunter2-hunter2', new Secret('hunter2-hunter2'));
  expect(redactor.redactText('got hunter2-hunter2')).toBe('got [secret]');
});

test('what goes to logs, prompts and records is masked the same way', () => {
  const redactor = redactorHolding();
  const lines: string[] = [];
  const log = createLogger({ destination: redactor.redactLog({ write: (line) => lines.push(line) }) });
  log.warn({ stderr: `bad key ${VALUE}` }, `tool failed: ${VALUE}`);
  expect(JSON.parse(lines.join(''))).toMatchObject({
    stderr: 'bad key [secret:DEPLOY]',
    message: 'tool failed: [secret:DEPLOY]',
  });
  expect(redactor.redactJson({ argv: ['curl', '-H', `X-Key: ${VALUE}`] })).toEqual({
    argv: ['curl', '-H', 'X-Key: [secret:DEPLOY]'],
  });
});

test.each([
  ['a token of a code host', ['gh', `p_${'a1B2c3'.repeat(6)}`], 'github-token'],
  ['a key of a cloud', ['AK', 'IAQ1W2E3R4T5Y6U7I8'], 'aws-access-key-id'],
  [
    'a key file',
    ['-----BEGIN PRIVATE', ` KEY-----\n${'Ab3/x+Zq'.repeat(8)}\n-----END PRIVATE KEY-----`],
    'private-key',
  ],
  ['a signed token', ['eyJhbGciOiJIUzI1NiJ9.', `eyJzdWIiOiIxIn0x.${'a1B2c3'.repeat(6)}`], 'jwt'],
])('%s that a tool found by itself is masked by its shape', (_what, pieces, id) => {
  const stream = createRedactor().redactStream();
  const parts = [
    stream.write(bytes('found ')),
    ...pieces.map((piece) => stream.write(bytes(piece))),
    stream.end('whole'),
  ];
  expect(parts.map(text).join('')).toBe(`found [detected:${id}]`);
});

test('the corpus that the rates of the detector are printed for is the one its maker makes', () => {
  for (const [name, made] of REDACT_CORPUS) {
    const kept = readFileSync(new URL(`../vectors/redact/${name}`, import.meta.url), 'utf8');
    expect({ name, isFresh: kept === made }).toEqual({ name, isFresh: true });
  }
});
