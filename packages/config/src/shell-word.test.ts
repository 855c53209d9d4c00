import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { shellWord } from './shell-word.ts';

test('a plain path stays as it is, and others are quoted', () => {
  expect([shellWord('/home/ada/.palyra'), shellWord("/it's here")]).toEqual(['/home/ada/.palyra', "'/it'\\''s here'"]);
});

test('a shell reads one word, the path itself, whatever is in it', () => {
  const path = fc
    .array(fc.constantFrom('a', ' ', "'", '"', '$(id)', '`id`', ';', '*', '~', '&', '|'))
    .map((parts) => `/x${parts.join('')}y`);
  fc.assert(
    fc.property(path, (text) => {
      expect(execFileSync('sh', ['-c', `printf %s. ${shellWord(text)}`], { encoding: 'utf8' })).toBe(`${text}.`);
    }),
    { numRuns: 50 },
  );
});
