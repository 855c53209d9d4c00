// T-41, T-19: an agent in the box of `palyra wrap` says to be in a folder that its box does not show, and hears from palyrad what
// its user has settled there.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findHook } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { newcomer } from '../e2e/palyra-process.ts';
import { PALYRA } from '../hooked-agent.ts';
import { layScript, toldBy } from '../wrapped-agent.ts';

test('SECURITY: T-41 — rules of a folder that is not in the box are neither read nor told there', async () => {
  await using here = newcomer();
  const rules = '.codex/rules/a.rules';
  const rule = (word: string) => `prefix_rule(pattern = ["touch", "${word}"], decision = "forbidden")\n`;
  for (const [folder, word] of [
    [join(here.person, 'another'), 'unheard-of'],
    [here.workspace, 'here'],
  ] as const) {
    mkdirSync(join(folder, '.codex/rules'), { recursive: true });
    writeFileSync(join(folder, rules), rule(word));
  }
  const hook = `${findHook()} codex --listener "$PALYRA_LISTENER" --palyra ${PALYRA} --patience 5`;
  const ask = (cwd: string, command: string) => {
    const event = { hook_event_name: 'PreToolUse', session_id: 'one', tool_name: 'Bash', tool_input: { command }, cwd };
    return { own: `echo '${JSON.stringify(event)}' | ${hook}` };
  };
  const words = layScript(here, [
    ask(join(here.workspace, 'below'), 'touch here'),
    ask(join(here.person, 'another'), 'touch unheard-of'),
  ]);
  await here.palyra(['wrap', '--json', '--profile', 'claude-code', '--', ...words]);
  const [known, another] = toldBy(here);
  expect(known).toMatchObject({ code: 2, stderr: expect.stringContaining('prefix_rule([["touch"],["here"]])') });
  expect(JSON.stringify(another)).not.toContain('A rule of the user');
}, 240_000);
