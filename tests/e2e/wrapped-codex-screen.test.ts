// Codex as a person starts it: its own screen, in a terminal, in the box of `palyra wrap`. What `codex exec` does there is
// in wrapped-codex.test.ts.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { ApprovalService } from '@palyra/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CODEX, type CodexHouse, codexEnvironment, openCodexHouse, writeCodexConfig } from './codex-session.ts';
import { type Conversation, shell } from './fake-model.ts';
import { startInTerminal, type TerminalSession } from './terminal.ts';
import { inBox, leadingHere, wrapped } from './wrapped-codex.ts';

const PATIENT = 120_000;
/** Throws away what is in a line, and leaves. Neither harms who reads lines again already; Ctrl-C would. */
const LEAVE = '\u0015\u0004';
const OWN_SCREEN = '\u001B[?1049h';
const FORMER_SCREEN = '\u001B[?1049l';

let house: CodexHouse;

beforeAll(async () => {
  house = await openCodexHouse({ config: ({ port }) => leadingHere([], [port]) });
}, PATIENT);
afterAll(() => house[Symbol.asyncDispose]());

const codexHome = () => join(house.person, '.codex');

/** `palyra wrap … -- codex 'Mend the sum.'` */
function startScreen({ url }: Conversation): TerminalSession {
  // In its settings: with `-c` Codex looks for no server of its own, and would work without ours forbidding it.
  writeCodexConfig(codexHome(), inBox(url, house.model));
  const argv = wrapped([process.execPath, CODEX, 'Mend the sum.'], house);
  const env = { ...codexEnvironment(house.person, codexHome()), TERM: 'xterm-256color' };
  return startInTerminal(argv, { cwd: house.workspace, env });
}

/** How many questions are open. */
async function questions(): Promise<number> {
  const { approvals } = await house.palyrad.client(ApprovalService, 'operator').listApprovals({});
  return approvals.filter(({ state }) => state === 'pending').length;
}

test('Codex has its own screen in the box, works there, and is left by a key', { timeout: PATIENT }, async ({
  signal,
}) => {
  const conversation = house.model.script([shell('echo "in $PWD"; touch made')]);
  await using screen = startScreen(conversation);
  // May it speak with its model? Once.
  await screen.pressUntil('', async () => (await questions()) === 1, { signal });
  await screen.pressUntil('o', async () => (await questions()) === 0, { signal });
  // Codex would have another model: no.
  const isOffered = () => screen.letters().includes('Useexistingmodel');
  await screen.pressUntil('2', () => conversation.requests.length > 0, { from: isOffered, signal });
  await screen.pressUntil('', () => conversation.outputOf(0) !== undefined, { signal });
  await screen.pressUntil(LEAVE, () => screen.letters().includes('journalverified'), { signal });
  expect(await screen.ended).toBe(0);
  // It drew on a screen of its own, and gave the terminal back.
  expect(screen.shown().split(OWN_SCREEN).at(1)).toContain(FORMER_SCREEN);
  expect(conversation.outputOf(0)).toMatch(new RegExp(`code 0\\n.*\\nOutput:\\nin ${house.workspace}\\n$`));
  expect(existsSync(join(house.workspace, 'made'))).toBe(true);
  expect(stripVTControlCharacters(screen.shown())).toMatch(
    // What Codex itself looks for elsewhere when it starts is kept from it.
    /palyra {2}1 call, 1 question, 0 refusals(?:, \d+ connections? refused)?\s.*journal {4}verified, \d+ entries\s/s,
  );
});
