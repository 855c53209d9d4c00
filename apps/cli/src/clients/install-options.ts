import type { InstallOptions } from '@palyra/agents';
import { type HomeLayout, loadConfig } from '@palyra/config';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import { findHome } from '../find-home.ts';
import { OWN_PROGRAM } from '../own-program.ts';

/** The agent waits longer than a human is asked, and the hook says no before the agent gives it up. */
const AGENT_WAITS_MORE_S = 60;
const HOOK_WAITS_MORE_S = 30;

/** The only characters that no shell reads as anything else; agents run the line with one. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** Throws `cli.not_available` where the hook's program is not there. */
export async function installOptions(
  client: string,
  home: HomeLayout,
  context: CommandContext,
): Promise<InstallOptions> {
  const { findHook } = await import('@palyra/sandbox');
  const hook = findHook();
  if (hook === undefined) {
    throw new CliError('cli.not_available', 'palyra-hook is not compiled on this host.', { fix: 'Run: npm run setup' });
  }
  const { config } = loadConfig({ home, environment: findHome(context).environment });
  const life = config.approvals.timeout_minutes * 60;
  const words = [hook, client, '--home', home.root, '--palyra', OWN_PROGRAM];
  const odd = words.find((word) => !PLAIN.test(word));
  if (odd !== undefined) {
    throw new CliError('cli.not_available', `A shell would not take this path as it is: ${visibleText(odd)}`, {
      fix: 'Install Palyra, and make its home, where the path has no blanks or quotes.',
    });
  }
  const patience = ['--patience', String(life + HOOK_WAITS_MORE_S)];
  return {
    // SECURITY: T-58 — a hook that is not there, or was killed, is a no as well.
    hookCommand: `${[...words, ...patience].join(' ')} || exit 2`,
    timeoutSeconds: life + AGENT_WAITS_MORE_S,
    mcpCommand: [OWN_PROGRAM, 'mcp', 'serve', '--home', home.root],
  };
}
