// T-32: an agent says what its own tool did, hears that all is well, and palyrad dies before it has written that down.
import { OutcomeKind, RunService } from '@palyra/api';
import { expect, test } from 'vitest';
import { startHookedAgent } from '../hooked-agent.ts';

const CALLS = ['one', 'two', 'three', 'four', 'five', 'six'];

test('what a hook was told is reported is on record, whatever becomes of palyrad', async () => {
  const agent = await startHookedAgent();
  const say = (name: 'PreToolUse' | 'PostToolUse', id: string) =>
    agent.say(agent.event(name, 'Read', { file_path: `${id}.txt` }, { tool_use_id: id, tool_response: {} }));
  const codes = async (said: readonly ReturnType<typeof say>[]) => (await Promise.all(said)).map(({ code }) => code);
  const none = CALLS.map(() => 0);
  expect(await codes(CALLS.map((id) => say('PreToolUse', id)))).toEqual(none);
  expect(await codes(CALLS.map((id) => say('PostToolUse', id)))).toEqual(none);
  agent.palyrad.child.kill('SIGKILL');

  await using palyrad = await agent.palyrad.restart();
  const runs = palyrad.client(RunService, 'operator');
  const [run] = (await runs.listRuns({})).runs;
  const { calls } = await runs.getRun({ runId: run?.runId ?? '' });
  expect(calls.map(({ outcome }) => outcome)).toEqual(CALLS.map(() => OutcomeKind.COMPLETED));
}, 120_000);
