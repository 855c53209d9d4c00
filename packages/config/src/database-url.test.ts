import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDatabaseUrl, redactDatabaseUrl } from './database-url.ts';

test.each([
  '',
  'postgres://localhost/palyra',
  'postgresql://palyra:pw@db.example:5432/palyra?sslmode=require',
  'postgres:///palyra?host=/run/postgresql',
])('%s is accepted', (url) => {
  expect(isDatabaseUrl(url)).toBe(true);
});

test.each([
  'palyra.db',
  'sqlite:///palyra.db',
  'http://localhost/palyra',
  'postgres:localhost',
  'postgres:///palyra',
  'postgres://u:12?3@host/palyra',
  'postgres://u:12#3@host/palyra',
  'postgres://u:12/3@host/palyra',
  ' ',
])('%s is refused', (url) => {
  expect(isDatabaseUrl(url)).toBe(false);
});

test.each([
  ['', ''],
  ['postgres://localhost/palyra', 'postgres://localhost/palyra'],
  ['postgres://u:pw@db:5432/palyra?sslmode=require', 'postgres://u:***@db:5432/palyra?sslmode=require'],
  ['postgres://:pw@db/palyra', 'postgres://:***@db/palyra'],
  ['postgres://db/p?password=pw&user=u&sslpassword=pw', 'postgres://db/p?password=***&user=u&sslpassword=***'],
  ['postgres://u:12?3@db/p', '***'],
])('%s is shown as %s', (url, shown) => {
  expect(redactDatabaseUrl(url)).toBe(shown);
});

test('no password, however it is written, is in what is shown', () => {
  const marker = 'Geheim';
  const text = fc.string({ maxLength: 8, unit: fc.constantFrom(...Array.from('ab1:/?#@[]%&= ü')) });
  fc.assert(
    fc.property(text, text, fc.constantFrom('', '/', '/db', '?password=x', '?sslmode=a'), (left, right, end) => {
      expect(redactDatabaseUrl(`postgres://user:${left}${marker}${right}@host:5432${end}`)).not.toContain(marker);
    }),
    { numRuns: 5000 },
  );
});
