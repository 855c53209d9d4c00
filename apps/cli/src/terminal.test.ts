import { PassThrough, Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { openTerminal } from './terminal.ts';

test('progress does not wipe away a question that waits for its answer', async () => {
  let shown = '';
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    shown += chunk.toString();
    done();
  };
  const stderr = Object.assign(new Writable({ write }), { isTTY: true });
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const opened = openTerminal({ stderr, signal: new AbortController().signal, variables: {}, openStdin: () => stdin });
  const answer = opened?.terminal.ask('Shall it join? Type yes: ');
  await vi.waitFor(() => expect(shown).not.toBe(''));
  opened?.terminal.progress('192.0.2.9 has connected.');
  stdin.write('yes\n');
  expect(await answer).toBe('yes');
  expect(shown).toBe('Shall it join? Type yes: ');
  opened?.terminal.progress('done');
  expect(shown).toContain('done');
});
