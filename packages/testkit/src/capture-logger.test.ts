import { Secret } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createCaptureLogger } from './capture-logger.ts';

test('lines are kept as they would have been written, secrets redacted', () => {
  const { logger, lines } = createCaptureLogger();
  logger.child({ run: 'r1' }).warn({ token: new Secret('hunter2') }, 'careful');
  logger.debug({}, 'details');
  expect(lines).toEqual([
    { level: 'warn', message: 'careful', run: 'r1', token: expect.not.stringContaining('hunter2') },
    { level: 'debug', message: 'details' },
  ]);
});

test('lines below the level are not kept', () => {
  const { logger, lines } = createCaptureLogger('warn');
  logger.info({}, 'quiet');
  expect(lines).toEqual([]);
});
