import { type HookedAgent, rewritten, run, startHookedAgent } from '../tests/hooked-agent.ts';
import { defineBenchmark } from './harness.ts';

/** What an agent waits for before each of its tools: everything over `true` is ours. */
export default defineBenchmark({
  name: 'hook',
  description: 'palyra-hook before a tool of an agent, allowed and denied, a command from hook to end, and Node alone.',
  baseline: 'true',
  ratioOf: 'p50_ms',
  setup: () => startHookedAgent(),
  async teardown(agent: HookedAgent) {
    await agent[Symbol.asyncDispose]();
  },
  contenders: [
    { name: 'true', prepare: () => ({ operation: () => expectCode(run(['/bin/true']), 0) }) },
    {
      name: 'hook-allow',
      prepare: (agent: HookedAgent) => ({
        operation: async (index: number) => {
          const input = { file_path: 'a.txt' };
          const more = { tool_use_id: `allow-${index}` };
          await expectCode(agent.say(agent.event('PreToolUse', 'Read', input, more)), 0);
        },
      }),
    },
    {
      name: 'hook-deny',
      prepare: (agent: HookedAgent) => ({
        operation: () =>
          expectCode(agent.say(agent.event('PreToolUse', 'Read', { file_path: `${agent.palyrad.home.root}/hook` })), 2),
      }),
    },
    {
      name: 'exec',
      prepare: (agent: HookedAgent) => ({
        operation: async () => {
          const said = await agent.say(agent.event('PreToolUse', 'Bash', { command: 'true' }));
          await expectCode(run(['/bin/sh', '-c', rewritten(said)]), 0);
        },
      }),
    },
    { name: 'node-start', prepare: () => ({ operation: () => expectCode(run([process.execPath, '-e', '']), 0) }) },
  ],
});

async function expectCode(ended: ReturnType<typeof run>, code: number): Promise<void> {
  const said = await ended;
  if (said.code !== code) throw new Error(`It ended with ${said.code}: ${said.stderr}`);
}
