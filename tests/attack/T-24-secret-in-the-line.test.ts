// T-24: an agent's command has a credential in it. What its own shell runs in the place of that command says what it was, on the
// agent's screen and in the list of processes of this host: the credential is not in it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HookedAgent, rewritten, startHookedAgent } from '../hooked-agent.ts';

let agent: HookedAgent;
beforeAll(async () => {
  agent = await startHookedAgent();
}, 60_000);
afterAll(() => agent[Symbol.asyncDispose]());

const TOKEN = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;

test.each([
  `GH_TOKEN=${TOKEN} true`,
  `true ${TOKEN}`,
  `true -H "Authorization: Bearer ${TOKEN}"`,
  // Half of it would be in the words.
  `true ${'x'.repeat(50)} ${TOKEN}`,
])('it is not in the line for %s', async (command) => {
  const line = rewritten(await agent.say(agent.event('PreToolUse', 'Bash', { command })));
  expect(line).toMatch(/ exec --for \S*true\S* --home /);
  // Nor a beginning of it.
  expect(line).not.toContain(TOKEN.slice(0, 12));
});
