import { expect, test } from 'vitest';
import { AppError } from './app-error.ts';

class DemoError extends AppError<'demo.broken'> {}

test('an error carries its code, its fix and the name of its class', () => {
  const error = new DemoError('demo.broken', 'It is broken.', { fix: 'Mend it.' });
  expect({ name: error.name, code: error.code, message: error.message, fix: error.fix }).toEqual({
    name: 'DemoError',
    code: 'demo.broken',
    message: 'It is broken.',
    fix: 'Mend it.',
  });
});
