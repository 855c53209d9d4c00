import { expect, test } from 'vitest';
import { type BoundFile, bindingOf } from './binding.ts';

const FILE: BoundFile = { path: '/usr/bin/sh', role: 'program', sha256: 'aa', bytes: 2, how: 'in_place' };
const digest = (changes: Partial<BoundFile>) => bindingOf([{ ...FILE, ...changes }], []).digest;

test('everything that says what runs is in the digest', () => {
  const others: readonly Partial<BoundFile>[] = [
    { path: '/bin/sh' },
    { role: 'script' },
    { sha256: 'ab' },
    { bytes: 3 },
  ];
  const digests = [digest({}), ...others.map(digest), bindingOf([FILE, FILE], []).digest];
  const unbound = bindingOf([FILE], [{ what: 'children', why: 'Programs.' }]).digest;
  expect(new Set([...digests, unbound]).size).toBe(7);
});

test('how the bytes are held is not: they are the same', () => {
  expect(digest({ how: 'copied' })).toBe(digest({}));
});
