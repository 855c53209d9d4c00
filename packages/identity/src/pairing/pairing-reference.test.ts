import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { PAIRING_ERRORS } from './pairing-error.ts';

test('the reference lists every code with its meaning', () => {
  const page = readFileSync(new URL('../../../../docs/reference/pairing.md', import.meta.url), 'utf8');
  const rows = Object.entries(PAIRING_ERRORS).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  expect(page.trimEnd().split('\n').slice(-rows.length)).toEqual(rows);
});
