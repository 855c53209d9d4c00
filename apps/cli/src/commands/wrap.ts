import { WRAP_PROFILES } from '@palyra/agents';
import { OWN_EXITS } from '@palyra/agents/exits';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition, CommandInput } from '../command.ts';
import { networkOption } from '../exec/network-option.ts';
import { resolvePath } from '../find-home.ts';
import { withDaemon } from '../reach-daemon.ts';
import { startRunHere } from '../workspace-here.ts';
import { type AgentToWrap, chooseAgent } from '../wrap/choose-agent.ts';
import { runWrapped } from '../wrap/run-wrapped.ts';

/** `palyra wrap -- claude`: the whole agent in the box, and its calls decided one by one. */
export const wrap: CommandDefinition = {
  name: 'wrap',
  group: 'Agents',
  summary: 'Run a whole agent in the box, its calls gated',
  details:
    'The agent sees this workspace, a home of its own with its login, and the hosts of its profile. Questions appear here ' +
    `and in palyra inbox. Exits as it does, or with 240 and more. Profiles: ${WRAP_PROFILES.join(', ')}.`,
  arguments: [{ name: 'AGENT', summary: 'The agent and its arguments, after --', isRequired: false, isVariadic: true }],
  options: [
    { flags: '--profile <NAME>', summary: 'Which agent it is; by its program’s name unless told' },
    { flags: '--net <WHERE>', summary: 'Hosts beside its own: off, ask (default), open, HOST,...' },
    { flags: '--cwd <DIR>', summary: 'Where it runs; here unless told' },
    { flags: '--env <NAME=VALUE>', summary: 'A variable for it; is on record', isRepeatable: true },
    { flags: '--no-stdin', summary: 'It reads nothing' },
    { flags: '--no-tty', summary: 'Pipes, even at a terminal' },
  ],
  ownExitsFrom: OWN_EXITS,
  async run(input, context) {
    if ((context.variables['PALYRA_LISTENER'] ?? '') !== '') throw inABox();
    const agent = agentOf(input, context);
    return withDaemon(context, { as: 'agent', giveUpAfterMs: GIVE_UP_AFTER_MS }, async (reached) => {
      const run = await startRunHere(reached, agent.cwd, context, { surface: 'wrap' });
      return runWrapped(agent, { run, reached, context }).catch(whenLost);
    });
  },
};

/**
 * The agent lives no longer than its palyrad. One that is started again says what became of it, and takes some seconds for
 * that on a busy machine; nobody is kept waiting for one that is not.
 */
const GIVE_UP_AFTER_MS = 8_000;

/** palyrad does not say why it hung up: it is gone, or this credential counts no longer. */
async function whenLost(error: unknown): Promise<never> {
  const { ClientError } = await import('@palyra/client');
  if (!(error instanceof ClientError) || error.code !== 'client.unreachable') throw error;
  throw new ClientError(error.code, 'palyrad was lost, or takes this credential no longer: the agent ends with that.', {
    fix: '`palyra status` says whether it runs, `palyra device list` what was revoked, `palyra log` what the agent did.',
    cause: error,
  });
}

function agentOf({ rest, options }: CommandInput, context: CommandContext): AgentToWrap {
  if (rest.length === 0) {
    throw new CliError('cli.missing_argument', 'The argument "AGENT" is missing.', {
      fix: 'Write the agent after --, such as palyra wrap -- claude.',
    });
  }
  const cwd = typeof options['cwd'] === 'string' ? resolvePath(options['cwd'], context) : context.workingDirectory();
  return {
    ...chooseAgent(rest, { profile: options['profile'], variables: context.variables, cwd }),
    cwd,
    ...networkOption(options['net'], 'strict'),
    environment: { ...shownVariables(context), ...environmentOf(options['env']) },
    stdin: options['stdin'] !== false,
    tty: options['tty'] !== false,
  };
}

/** What makes a program look as it does without us; none of them can be a secret. */
const LOOKS = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR|TERM_PROGRAM)$/;

function shownVariables({ variables }: CommandContext): Readonly<Record<string, string>> {
  const looks = Object.entries(variables).filter(([name, value]) => LOOKS.test(name) && value !== undefined);
  return Object.fromEntries(looks) as Record<string, string>;
}

function environmentOf(typed: unknown): Readonly<Record<string, string>> {
  const pairs = Array.isArray(typed) ? (typed as readonly string[]) : [];
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(pair) ?? [];
      if (name !== undefined && value !== undefined) return [name, value];
      throw new CliError('cli.invalid_option', '--env takes NAME=VALUE.', { fix: 'Write --env CI=1.' });
    }),
  );
}

function inABox(): CliError {
  return new CliError('cli.in_a_box', 'An agent in a box starts no other one.', {
    fix: 'Do it at a terminal outside of palyra wrap.',
  });
}
