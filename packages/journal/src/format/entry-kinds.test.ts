import { expect, test } from 'vitest';
import { isEntryKind } from './entry-data.ts';
import { ENTRY_KINDS } from './entry-kinds.ts';

const TYPES = ['id', 'digest', 'body', 'snapshot', 'key', 'signature', 'name', 'origin', 'count', 'integer'];

const NAME = /^[a-z]+(?:_[a-z]+)*$/;

/** An empty value stands for absence, and only in front. */
function isSound(spec: string | readonly string[]): boolean {
  if (typeof spec === 'string') return TYPES.includes(spec.replace(/[?*]$/, ''));
  const values = spec[0] === '' ? spec.slice(1) : spec;
  return values.length > 0 && new Set(values).size === values.length && values.every((value) => NAME.test(value));
}

test.each(Object.entries(ENTRY_KINDS))('%s has a version and fields of known types', (_kind, { version, fields }) => {
  expect(Number.isSafeInteger(version) && version > 0).toBe(true);
  const unsound = (Object.entries(fields) as [string, string | readonly string[]][]).filter(
    ([name, spec]) => !NAME.test(name) || !isSound(spec),
  );
  expect(unsound).toEqual([]);
});

test('names of kinds are those of the table, and nothing that every object has', () => {
  expect(Object.keys(ENTRY_KINDS).every(isEntryKind)).toBe(true);
  for (const text of ['', 'constructor', '__proto__', 'toString', 'Proposal', 'proposal ', 'run']) {
    expect(isEntryKind(text)).toBe(false);
  }
});
