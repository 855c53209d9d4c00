import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type HookedAgent, rewritten, run, startHookedAgent } from '../tests/hooked-agent.ts';
import { defineBenchmark } from './harness.ts';

/** What an agent waits for before each of its tools: everything over `true` is ours. */
export default defineBenchmark({
  name: 'hook',
  description: 'palyra-hook before a tool of an agent, allowed and denied, a command from hook to end, and Node alone.',
  baseline: 'true',
  ratioOf: 'p50_ms',
  async setup() {
    const agent = await startHookedAgent({ livesLong: true });
    await writeFile(join(agent.workspace, 'a.txt'), 'hello\n');
    return agent;
  },
  async teardown(agent: HookedAgent) {
    await agent[Symbol.asyncDispose]();
  },
  contenders: [
    { name: 'true', prepare: () => ({ operation: () => expectCode(run(['/bin/true']), 0) }) },
    {
      name: 'hook-allow',
      prepare: (agent: HookedAgent) => ({
        // What the agent waits for before its tool. It reports afterwards, as agents do, which is not in the figure: what is
        // never reported is closed as unknown, which is other work.
        sample: 'result',
        operation: async (index: number) => {
          const say = (event: 'PreToolUse' | 'PostToolUse', more: Record<string, unknown>) => {
            const input = { file_path: 'a.txt' };
            return agent.say(agent.event(event, 'Read', input, { tool_use_id: `allow-${index}`, ...more }));
          };
          const start = performance.now();
          await expectCode(say('PreToolUse', {}), 0);
          const waited = performance.now() - start;
          await expectCode(say('PostToolUse', { tool_response: {} }), 0);
          return waited;
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
