// T-24, T-54: a guest emits a secret, which is masked on the stream, and the record of the call lets it be guessed from a digest.
import { Secret, sha256Hex, systemClock } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createRedactor } from '../../packages/gateway/src/redact/create-redactor.ts';
import { recordEmitted } from '../../packages/gateway/src/tools/emitted-events.ts';
import { toldOutput } from '../../packages/gateway/src/tools/told-output.ts';

test('what is recorded of events is of the lines as they were told, without the secret', async () => {
  const secret = 'sk/9+of-the-vault';
  const redact = createRedactor();
  expect(redact.hold('DEPLOY', new Secret(secret))).toEqual({ kind: 'masked' });
  const heard: Buffer[] = [];
  const emitted = recordEmitted({
    onOutput: (stream, bytes) => void (stream === 'stdout' && heard.push(Buffer.from(bytes))),
  });
  const told = toldOutput(emitted, { redact, clock: systemClock, isTerminal: false });
  const lines = [`{"token":"${secret}"}\n`, '{"n":1}\n'];
  for (const line of lines) {
    await told.take('stdout', Buffer.from(line));
    emitted.count();
  }
  await told.take('stderr', Buffer.from('its log is something else'));
  await told.end('whole');
  const onStream = Buffer.concat(heard);
  expect(onStream.toString()).not.toContain(secret);
  const record = emitted.taken();
  expect(record).toEqual({ count: 2, sha256: sha256Hex(onStream) });
  expect(record?.sha256).not.toBe(sha256Hex(Buffer.from(lines.join(''))));
});

test('one that was not heard is not in it', async () => {
  const emitted = recordEmitted({
    onOutput: () => {
      throw new Error('Nobody listens.');
    },
  });
  await expect(async () => emitted.onOutput('stdout', Buffer.from('x'))).rejects.toThrow('Nobody listens.');
  expect(emitted.taken()).toBeUndefined();
});
