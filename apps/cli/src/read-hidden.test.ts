import { PassThrough, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { readHidden } from './read-hidden.ts';

interface Typing {
  readonly shownUntil?: string;
  readonly keys: readonly string[];
}

async function typing({ keys, ...options }: Typing) {
  let screen = '';
  const modes: boolean[] = [];
  const stopping = new AbortController();
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    screen += chunk.toString();
    done();
  };
  const stdin = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => void modes.push(mode) });
  const line = readHidden({
    question: '? ',
    stdin,
    stderr: new Writable({ write }),
    signal: stopping.signal,
    interrupt: () => stopping.abort('interrupted'),
    ...options,
  }).catch((reason: unknown) => `rejected: ${String(reason)}`);
  for (const key of keys) stdin.write(key);
  const answer = await line;
  return { answer, screen, modes, rest: String(stdin.read() ?? '') };
}

test('letters are stars on the screen, and the terminal shows none by itself meanwhile', async () => {
  expect(await typing({ keys: ['1', '2', '34 5', '678\r'] })).toEqual({
    answer: '1234 5678',
    screen: '? *********\n',
    modes: [true, false],
    rest: '',
  });
});

test('what is no secret is shown, up to the mark', async () => {
  const { answer, screen } = await typing({ shownUntil: '#', keys: ['palyra://h:1/join/X#secret\n'] });
  expect([answer, screen]).toEqual(['palyra://h:1/join/X#secret', '? palyra://h:1/join/X#******\n']);
});

test('it can be mended, erased, and given up', async () => {
  expect(await typing({ keys: ['12', '\u007F', '3\b4\r'] })).toMatchObject({ answer: '14' });
  expect(await typing({ keys: ['12\u001534\r'] })).toMatchObject({ answer: '34' });
  expect(await typing({ keys: ['\u0004'] })).toMatchObject({ answer: '', modes: [true, false] });
  expect(await typing({ keys: ['12\u0003'] })).toMatchObject({ answer: 'rejected: interrupted', modes: [true, false] });
});

test('arrows and the marks of a paste are no part of it, and the next line is left for the next question', async () => {
  expect(await typing({ keys: ['\u001B[A1\u001BOD2\u001B[200~34\u001B[201~\r56\r'] })).toMatchObject({
    answer: '1234',
    rest: '56\r',
  });
});

test('one question after the other is answered, by what is typed later and by what was pasted at once', async () => {
  const stdin = new PassThrough();
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
  const line = { question: '', stdin, stderr, signal: new AbortController().signal, interrupt: () => undefined };
  const first = readHidden(line);
  stdin.write('one\rtwo\r');
  expect([await first, await readHidden(line)]).toEqual(['one', 'two']);
  const third = readHidden(line);
  stdin.write('three\r');
  expect(await third).toBe('three');
});
