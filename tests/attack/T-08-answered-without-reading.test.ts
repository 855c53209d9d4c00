// T-08: an answer that nobody gave to the question on the screen: typed ahead of it, pasted, or to whichever is open by now.
import { PassThrough, Writable } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { createInbox, type InboxQuestion } from '../../apps/cli/src/questions/inbox-loop.ts';
import { promptForTests } from '../../apps/cli/src/questions/prompt-for-tests.ts';
import { singleKey } from '../../apps/cli/src/questions/single-keys.ts';
import { plainPaint } from '../../apps/cli/src/render/paint.ts';
import { openTerminal } from '../../apps/cli/src/terminal.ts';
import { runInProcess } from '../e2e/cli-in-process.ts';

function openAtTerminal() {
  let shown = '';
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    shown += chunk.toString();
    done();
  };
  const stderr = Object.assign(new Writable({ write }), { isTTY: true });
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => void modes.push(on) });
  const opened = openTerminal({ stderr, signal: new AbortController().signal, variables: {}, openStdin: () => stdin });
  if (opened === undefined) throw new Error('There is no terminal.');
  return { terminal: opened.terminal, stdin, modes, isShown: () => vi.waitFor(() => expect(shown).toContain('yes: ')) };
}

test.each([['yes\n'], ['yes\nyes\nyes\n'], ['ye']])(
  '%j that is typed before the question is there does not answer it',
  async (typed) => {
    const { terminal, stdin, modes, isShown } = openAtTerminal();
    stdin.write(typed);
    const answer = terminal.ask('Approve it? Type yes: ');
    await isShown();
    stdin.write('no\n');
    expect(await answer).toBe('no');
    // As it was: the person sees what they type.
    expect(modes).toEqual([true, false]);
  },
);

function openInbox() {
  const answers: unknown[] = [];
  let now = 0;
  const inbox = createInbox({
    write: () => undefined,
    paint: plainPaint,
    columns: () => 80,
    now: () => now,
    answer: async (_question: InboxQuestion, answer) => {
      answers.push(answer);
      return 'Done.';
    },
    askReason: async () => '',
  });
  inbox.take({ id: 'A1', isOpen: true, prompt: promptForTests({ approval_id: 'A1' }), waiting: 1, votes: 0 });
  now = 10_000;
  const send = (typed: string) => {
    const key = singleKey(Buffer.from(typed));
    if (key === undefined) inbox.disturb();
    else inbox.press(key);
  };
  const wait = (ms: number) => {
    now += ms;
  };
  return { send, answers, wait };
}

test.each(['oo', 'o\n', 'so what', '\u001B[A', '\u001Bo', '\u001B[200~o\u001B[201~', 'ø', ''])(
  'in the inbox %j, which is no single key, answers nothing',
  async (pasted) => {
    const { send, answers, wait } = openInbox();
    send(pasted);
    await Promise.resolve();
    expect(answers).toEqual([]);
    wait(700);
    send('o');
    await vi.waitFor(() => expect(answers).toEqual([{ decision: 'approve', scope: 'once' }]));
  },
);

test('--yes answers the question that is named, and no other that is open by now', async () => {
  const { exit, err } = await runInProcess({ args: ['approve', '--yes'], input: '', cwd: '/', variables: {} });
  expect({ exit, err }).toMatchObject({ exit: 2, err: expect.stringContaining('error[cli.missing_argument]') });
});

test('what a terminal answers to a program, in pieces of which the last looks like a key, answers nothing', () => {
  const { send, answers, wait } = openInbox();
  // The title that the program gave its window comes back when it asks, and may be read in the middle.
  send('\u001B]lto d');
  send('o');
  wait(699);
  send('o');
  expect(answers).toEqual([]);
  wait(1);
  send('o');
  expect(answers).toEqual([{ decision: 'approve', scope: 'once' }]);
});
