// T-08: an agent in `palyra wrap` has the terminal that its questions are asked in. It prepares the screen so that a question is
// not seen (two lines of it, the colour of the background, signs for letters, drawn later), or writes over one that stands: its
// output has waited for the question before.
import { expect, test } from 'vitest';
import { createAgentScreen, OWN_SCREEN } from '../../apps/cli/src/wrap/agent-screen.ts';
import { betweenQuestions } from '../../apps/cli/src/wrap/ask-in-terminal.ts';

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
