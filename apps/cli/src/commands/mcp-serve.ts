import { CliError } from '../cli-error.ts';
import type { CommandDefinition } from '../command.ts';
import { resolvePath } from '../find-home.ts';
import { durationOf } from '../option-values.ts';
import { withDaemon } from '../reach-daemon.ts';
import { readVersion } from '../version.ts';
import { startRunHere } from '../workspace-here.ts';

/** Most clients give a call up after a minute. */
const PATIENCE_MS = 45_000;

/** `palyra mcp serve`: what an agent's MCP client starts. */
export const mcpServe: CommandDefinition = {
  name: 'mcp serve',
  group: 'Agents',
  summary: 'Serve the tools to an agent over stdio (MCP)',
  details:
    'For the settings of an MCP client: command palyra, arguments mcp serve. Calls are decided, asked about and attested ' +
    'as everywhere else, as the agent of this home. A call that waits for a human longer than the client does is told as ' +
    'pending, and palyra_await gets its result later.',
  options: [
    { flags: '--workspace <DIR>', summary: 'Where it works; here unless told' },
    { flags: '--patience <TIME>', summary: 'How long a call waits for a human (45s)' },
  ],
  async run({ options }, context) {
    if (context.asJson) {
      throw new CliError('cli.invalid_usage', 'mcp serve speaks MCP on standard output, and nothing else.');
    }
    const patienceMs = durationOf(options['patience'], '--patience') ?? PATIENCE_MS;
    const directory =
      typeof options['workspace'] === 'string'
        ? resolvePath(options['workspace'], context)
        : context.workingDirectory();
    const { serveMcp } = await import('../mcp/serve-mcp.ts');
    // Nobody is at the keyboard: standard input belongs to the client.
    const alone = { ...context, terminal: undefined };
    await withDaemon(alone, 'agent', (reached) =>
      serveMcp({
        client: reached.client,
        startRun: () => startRunHere(reached, directory, alone, { surface: 'mcp' }),
        stdin: context.openStdin(),
        stdout: context.openOutput().stdout,
        version: readVersion(),
        patienceMs,
        signal: context.signal,
      }),
    );
    return { json: null, render: () => '' };
  },
};
