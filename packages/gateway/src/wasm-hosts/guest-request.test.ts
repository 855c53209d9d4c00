import { expect, test } from 'vitest';
import { type GuestRequest, readRequest, whyNotWithSecret } from './guest-request.ts';

test('a request is read whole, or not at all', () => {
  const url = 'https://api.example.com/';
  expect(readRequest({ url, method: 'POST', headers: { a: 'b' }, body_base64: 'aGk=' })).toEqual({
    url,
    method: 'POST',
    headers: { a: 'b' },
    body: Buffer.from('hi'),
  });
  const wrong = [
    {},
    { url: 'ftp://x' },
    { url, body: 'a', body_base64: 'b' },
    { url, headers: { a: 1 } },
    { url, x: 1 },
  ];
  expect(wrong.map((written) => typeof readRequest(written))).toEqual(wrong.map(() => 'string'));
});

test.each([
  [['authorization'], expect.stringContaining('header that the secret is in')],
  [['AUTHORIZATION'], expect.stringContaining('header that the secret is in')],
  [['x_api-KEY'], expect.stringContaining('header that the secret is in')],
  [['Range'], expect.stringContaining('part of the secret')],
  [['Request_Range'], expect.stringContaining('part of the secret')],
  [['accept', 'x-api-keys', 'if-none-match'], undefined],
  [[], undefined],
] as const)('with headers %j a secret goes out, or does not', (written, why) => {
  const headers = Object.fromEntries(written.map((name) => [name, 'mine']));
  const request: GuestRequest = { url: 'https://api.example.com/', headers };
  const said = whyNotWithSecret(request, ['Authorization', 'X-Api-Key']);
  expect(said).toEqual(why);
});
