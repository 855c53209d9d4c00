import { expect, test, vi } from 'vitest';
import { plainPaint } from '../render/paint.ts';
import { createInbox, type InboxDeps, type InboxQuestion } from './inbox-loop.ts';
import { promptForTests } from './prompt-for-tests.ts';

function question(id: string, more: Partial<InboxQuestion> = {}): InboxQuestion {
  return { id, isOpen: true, prompt: promptForTests({ approval_id: id }), waiting: 1, votes: 0, ...more };
}

function open() {
  const screen: string[] = [];
  const answers: [string, unknown][] = [];
  let now = 1_000_000;
  const deps: InboxDeps = {
    write: (text) => screen.push(text),
    paint: plainPaint,
    columns: () => 80,
    now: () => now,
    async answer({ id }, answer) {
      answers.push([id, answer]);
      return 'Approved.';
    },
    askReason: async () => 'not today',
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { inbox: createInbox(deps), deps, answers, pass, seen: () => screen.join('') };
}

test('a question is shown whole, and then a key answers it', async () => {
  const { inbox, answers, pass, seen } = open();
  inbox.take(question('A1'));
  expect(seen()).toContain('agent:local wants to run a command from shop.');
  expect(seen()).toContain('│ make deploy');
  expect(seen()).toContain('│ \\u{1B}[2K');
  expect(seen()).toContain('what make starts');
  expect(seen()).toMatch(/o once +s session +d deny/);
  pass(1000);
  inbox.press('o');
  await vi.waitFor(() => expect(answers).toEqual([['A1', { decision: 'approve', scope: 'once' }]]));
});

test('a key that was pressed before anybody can have read the question answers nothing', () => {
  const { inbox, answers, pass } = open();
  inbox.take(question('A1'));
  pass(100);
  inbox.press('o');
  expect(answers).toEqual([]);
});

test('a scope that is not offered has no key', () => {
  const { inbox, answers, pass, seen } = open();
  inbox.take(question('A1'));
  pass(1000);
  inbox.press('a');
  inbox.press('t');
  expect(answers).toEqual([]);
  expect(seen()).not.toContain('always here');
});

test('always takes its key twice', async () => {
  const { inbox, answers, pass } = open();
  const [once] = promptForTests().options;
  const options = [
    once as NonNullable<typeof once>,
    { scope: 'always' as const, covers: ['for good'], pattern: '{}', holds_ms: 1 },
  ];
  inbox.take(question('A1', { prompt: promptForTests({ options }) }));
  pass(1000);
  inbox.press('a');
  expect(answers).toEqual([]);
  inbox.press('a');
  await vi.waitFor(() => expect(answers).toHaveLength(1));
});

test('the next question comes when one is answered, and needs to be read again', async () => {
  const { inbox, answers, pass, seen } = open();
  inbox.take(question('A1'));
  inbox.take(question('A2'));
  pass(1000);
  inbox.press('d');
  await vi.waitFor(() => expect(seen()).toContain('id A2'));
  inbox.press('d');
  expect(answers).toEqual([['A1', { decision: 'deny' }]]);
});

test('a question that ended elsewhere goes away, and its key answers nothing', () => {
  const { inbox, answers, pass, seen } = open();
  inbox.take(question('A1'));
  inbox.take(question('A1', { isOpen: false }));
  pass(1000);
  inbox.press('o');
  expect(answers).toEqual([]);
  expect(seen()).toContain('The question has ended.');
});

test('passing over shows the next, and all again when there are no more', () => {
  const { inbox, seen } = open();
  inbox.take(question('A1'));
  inbox.take(question('A2'));
  inbox.press('n');
  inbox.press('n');
  expect(seen()).toContain('2 passed over');
  inbox.press('n');
  expect(seen().match(/id A1/g)).toHaveLength(2);
});

test('what goes wrong is shown, and the question stays', async () => {
  const { deps, pass } = open();
  const screen: string[] = [];
  const inbox = createInbox({
    ...deps,
    write: (text) => screen.push(text),
    answer: () => Promise.reject(new Error('Gone.')),
  });
  inbox.take(question('A1'));
  pass(1000);
  inbox.press('o');
  await vi.waitFor(() => expect(screen.join('').match(/id A1/g)).toHaveLength(2));
  expect(screen.join('')).toContain('✗ Gone.');
});

test.each(['q', '\u0003'])('%j leaves', async (key) => {
  const { inbox } = open();
  inbox.press(key);
  await expect(inbox.left).resolves.toBeUndefined();
});
