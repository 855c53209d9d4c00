import { expect, test } from 'vitest';
import { describeError } from './describe-error.ts';
import { PRIMITIVES_ERRORS, PrimitivesError } from './primitives-error.ts';

test('an error of ours is described by its code, message and fix, and its cause stays out', () => {
  const error = new PrimitivesError('primitives.not_json', 'It is not JSON.', { fix: 'Mend it.', cause: 'inside' });
  expect(describeError(error)).toEqual({ code: 'primitives.not_json', message: 'It is not JSON.', fix: 'Mend it.' });
});

test('an error of ours without a fix is described without one', () => {
  expect(describeError(new PrimitivesError('primitives.not_json', 'It is not JSON.'))).toEqual({
    code: 'primitives.not_json',
    message: 'It is not JSON.',
    fix: undefined,
  });
});

test.each([new Error('connect postgres://root:hunter2@db'), 'hunter2', undefined, null, { code: 'x', message: 'y' }])(
  'whatever else was thrown becomes the internal fault and tells nothing (%#)',
  (thrown) => {
    expect(describeError(thrown)).toEqual({
      code: 'internal',
      message: 'Something went wrong inside Palyra.',
      fix: 'Look at the log of the process that answered; it holds the cause.',
    });
  },
);

test('every code names its package and is explained by a sentence', () => {
  for (const [code, sentence] of Object.entries(PRIMITIVES_ERRORS)) {
    expect(code).toMatch(/^primitives\.[a-z0-9_]+$/);
    expect(sentence).toMatch(/^[A-Z].*\.$/);
  }
});
