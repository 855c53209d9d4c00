// T-08: an agent in `palyra wrap` has the terminal that its questions are asked in. It prepares the screen so that a question is
// not seen (two lines of it, the colour of the background, signs for letters, drawn later), or writes over one that stands: its
// output has waited for the question before.
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createAgentScreen, OWN_SCREEN } from '../../apps/cli/src/wrap/agent-screen.ts';
import { betweenQuestions } from '../../apps/cli/src/wrap/ask-in-terminal.ts';
import { runWrapped } from '../../apps/cli/src/wrap/run-wrapped.ts';

const ESC = '\u001B';

test.each([
  ['two lines of the screen scroll', `${ESC}[23;24r`, `${ESC}[r`],
  ['lines are counted from there', `${ESC}[?6h`, `${ESC}[?6l`],
  ['text is as its background', `${ESC}]10;#000000${ESC}\\`, `${ESC}]110${ESC}\\`],
  ['background is as text', `${ESC}]11;#ffffff${ESC}\\`, `${ESC}]111${ESC}\\`],
  ['the palette is of one colour', `${ESC}]4;1;#000000${ESC}\\`, `${ESC}]104${ESC}\\`],
  ['nothing is seen', `${ESC}[8m`, `${ESC}[0m`],
  ['letters are signs, by G0', `${ESC}(0`, `${ESC}(B`],
  ['letters are signs, by G1', `${ESC})0\u000E`, '\u000F'],
  ['nothing is drawn yet', `${ESC}[?2026h`, `${ESC}[?2026l`],
  ['lines end at the edge', `${ESC}[?7l`, `${ESC}[?7h`],
  ['margins at the sides', `${ESC}[?69h${ESC}[1;2s`, `${ESC}[?69l`],
  ['a string that never ends', `${ESC}]0;`, '\u0018'],
])('%s: not for a question, nor for what is told of the session', (_what, does, undoes) => {
  const screen = createAgentScreen();
  screen.saw(Buffer.from(does));
  expect(screen.begin(24)).toContain(undoes);
  expect(OWN_SCREEN).toContain(undoes);
});

test.each([
  ['it draws', `${ESC}[?1049h`],
  ['it says so in another way', `${ESC}[?25;1049h`],
  ['it writes lines', 'text'],
])('%s: nothing of it stands beside a question', (_what, does) => {
  const screen = createAgentScreen();
  screen.saw(Buffer.from(`${does}Approve npm test? o once`));
  expect(screen.begin(24).endsWith(`${ESC}[r${ESC}[2J${ESC}[H`)).toBe(true);
});

test('output that waited for one question waits for the next one, too', async () => {
  const standing = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let at = 0;
  const shown: string[] = ['the first question'];
  const writing = betweenQuestions({ held: () => standing[at]?.promise }, async () => {
    shown.push('fake');
  });
  // As the first one goes the next one is there, in the same turn.
  standing[at]?.resolve();
  at += 1;
  shown.push('the second question');
  await new Promise(setImmediate);
  expect(shown).toEqual(['the first question', 'the second question']);
  standing[at]?.resolve();
  at += 1;
  await writing;
  expect(shown.at(-1)).toBe('fake');
});

test.each([
  ['standard output', { stdout: true, stderr: false }],
  ['standard error', { stdout: false, stderr: true }],
  ['both', { stdout: true, stderr: true }],
])(
  'a terminal at %s, and nobody who can be asked: what it left is undone, and nothing of it stays below',
  async (_where, isTTY) => {
    const written: Buffer[] = [];
    const stream = (isTerminal: boolean) =>
      Object.assign(
        new Writable({
          write(bytes: Buffer, _encoding, done) {
            if (isTerminal) written.push(bytes);
            done();
          },
        }),
        { isTTY: isTerminal },
      );
    const output = { stdout: stream(isTTY.stdout), stderr: stream(isTTY.stderr) };
    const failed = new Error('the agent is gone');
    const wrapping = {
      run: {
        async call(_tool: string, _input: unknown, { onOutput }: { onOutput(output: unknown): Promise<void> }) {
          const data = Buffer.from(`${ESC}[8m${ESC}[5;1Hjournal verified${ESC}[1;1H`);
          await onOutput({ stream: isTTY.stdout ? 'stdout' : 'stderr', data });
          throw failed;
        },
        end: async () => undefined,
      },
      context: { openOutput: () => output, takeSignals: () => ({ release: () => undefined }), asJson: false },
    };
    const agent = { stdin: false, tty: false, profile: 'codex', argv: [], environment: {} };
    const wrapped = runWrapped(agent as never, wrapping as never);
    await expect(wrapped).rejects.toBe(failed);
    const [drawn, ...after] = written.map(String);
    expect(drawn).toContain('journal verified');
    expect(after.length).toBeGreaterThan(0);
    expect(new Set(after)).toEqual(new Set([`${OWN_SCREEN}${ESC}[J`]));
  },
);
