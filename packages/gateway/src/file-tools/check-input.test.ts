import { describe, expect, test } from 'vitest';
import { whyInvalid } from './check-input.ts';

test('what the schema describes is taken', () => {
  expect(whyInvalid('palyra.fs.read', { path: 'x', first_line: 3, encoding: 'utf8' })).toBeUndefined();
  expect(whyInvalid('palyra.fs.list', {})).toBeUndefined();
  expect(whyInvalid('palyra.fs.search', { pattern: 'x', globs: ['*.ts', '!x'] })).toBeUndefined();
  expect(
    whyInvalid('palyra.fs.write', { path: 'x', content: 'aGk=', encoding: 'base64', expect: 'absent' }),
  ).toBeUndefined();
});

describe('anything else is not', () => {
  test.each([
    ['palyra.fs.read', [], 'The input is not an object.'],
    ['palyra.fs.read', {}, 'The field path is missing.'],
    ['palyra.fs.read', { path: 'x', allowProtected: true }, 'The field allowProtected is not known.'],
    ['palyra.fs.read', { path: '' }, 'The field path is empty.'],
    ['palyra.fs.read', { path: 7 }, 'The field path is not text.'],
    ['palyra.fs.read', { path: '\uD800' }, 'The field path holds half a character.'],
    [
      'palyra.fs.read',
      { path: 'x', first_line: 0 },
      `The field first_line is not between 1 and ${Number.MAX_SAFE_INTEGER}.`,
    ],
    ['palyra.fs.read', { path: 'x', first_line: 1.5 }, 'The field first_line is not a whole number.'],
    ['palyra.fs.read', { path: 'x', encoding: 'latin1' }, 'The field encoding is none of utf8, base64.'],
    ['palyra.fs.list', { hidden: 'yes' }, 'The field hidden is neither true nor false.'],
    ['palyra.fs.search', { pattern: 'x', globs: [''] }, 'The field globs[0] is empty.'],
    ['palyra.fs.write', { path: 'x', content: 'a*', encoding: 'base64' }, 'The field content is not base64.'],
    ['palyra.fs.write', { path: 'x', content: '', expect: 'nothing' }, 'The field expect is malformed.'],
  ] as const)('%s %j', (tool, input, problem) => {
    expect(whyInvalid(tool, input)).toBe(problem);
  });
});
