import { expect, test } from 'vitest';
import { placeOf, renderPlace } from './listen-place.ts';

const LOCAL = { setting: 'daemon.listen', remote: 'not allowed' } as const;
const REMOTE = { ...LOCAL, remote: 'allowed' } as const;
const NEVER = { ...LOCAL, remote: 'never' } as const;
const REFUSED = expect.objectContaining({ code: 'daemon.public_bind', fix: expect.any(String) });

test.each([
  ['127.0.0.1:0', { host: '127.0.0.1', port: 0 }],
  ['127.9.9.9:80', { host: '127.9.9.9', port: 80 }],
  ['localhost:443', { host: '127.0.0.1', port: 443 }],
  ['[::1]:443', { host: '::1', port: 443 }],
])('%s is this host, under all rules', (text, place) => {
  for (const rules of [LOCAL, REMOTE, NEVER]) expect(placeOf(text, rules)).toEqual(place);
});

test.each(['0.0.0.0:443', '[::]:443', '192.0.2.7:443', '[2001:db8::7]:443', '[::ffff:127.0.0.1]:443'])(
  '%s needs leave',
  (text) => {
    expect(() => placeOf(text, LOCAL)).toThrow(REFUSED);
    expect(() => placeOf(text, NEVER)).toThrow(REFUSED);
    expect(placeOf(text, REMOTE).port).toBe(443);
  },
);

test.each(['example.org:443', '127.0.0.1.example.org:443', '127.1:443', 'localhost.:443', '127.0.0.1:65536'])(
  '%s is never taken: what it leads to may change',
  (text) => {
    for (const rules of [LOCAL, REMOTE, NEVER]) expect(() => placeOf(text, rules)).toThrow(REFUSED);
  },
);

test('an address is written as clients take it', () => {
  expect(renderPlace({ host: '::1', port: 1 })).toBe('[::1]:1');
  expect(renderPlace({ host: '127.0.0.1', port: 1 })).toBe('127.0.0.1:1');
});
