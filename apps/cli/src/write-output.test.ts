import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { writeOutput } from './write-output.ts';

const failing = (code: string) =>
  new Writable({ write: (_bytes, _encoding, done) => done(Object.assign(new Error(code), { code })) });

test.each(['EPIPE', 'ECONNRESET'])('%s: nobody reads any more, which is no failure', async (code) => {
  await expect(writeOutput(failing(code), 'text')).resolves.toBe('unread');
});

test('what is lost on its way to a full disk is one', async () => {
  await expect(writeOutput(failing('ENOSPC'), 'text')).rejects.toMatchObject({
    code: 'cli.output_failed',
    message: 'The output could not be written.',
  });
});
