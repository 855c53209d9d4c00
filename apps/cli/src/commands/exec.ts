import { OWN_EXITS } from '@palyra/agents/exits';
import type { Run } from '@palyra/client';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition, CommandInput } from '../command.ts';
import { collectCommand } from '../exec/collect-command.ts';
import { networkOption } from '../exec/network-option.ts';
import { type CommandToRun, runCommand } from '../exec/run-command.ts';
import { resolvePath } from '../find-home.ts';
import { durationOf } from '../option-values.ts';
import { withDaemon } from '../reach-daemon.ts';
import { startRunHere } from '../workspace-here.ts';

/** `palyra exec -- git status`: decided, asked about if need be, in the box, attested. */
export const exec: CommandDefinition = {
  name: 'exec',
  group: 'Agents',
  summary: 'Run one command through policy and sandbox',
  details: 'It reaches this workspace, and hosts by a proxy that asks. 240 or more: refused.',
  arguments: [
    { name: 'COMMAND', summary: 'The program and its arguments, after --', isRequired: false, isVariadic: true },
  ],
  options: [
    { flags: '--sandbox <KIND>', summary: 'strict: the box (usual); limits: no wall, is asked' },
    { flags: '--net <WHERE>', summary: 'off, ask (default), open, or HOST,HOST:PORT,...' },
    { flags: '--cwd <DIR>', summary: 'Where it runs; here unless told' },
    { flags: '--env <NAME=VALUE>', summary: 'A variable for it; may be given again', isRepeatable: true },
    { flags: '--timeout <TIME>', summary: 'How long it may take, such as 30s' },
    { flags: '--no-stdin', summary: 'It reads nothing' },
    { flags: '--no-tty', summary: 'Pipes, even at a terminal' },
    { flags: '--call <ID>', summary: 'Instead of a command: one that an agent’s hook was allowed' },
    {
      flags: '--for <WORDS>',
      summary: 'With --call: what it is, for people to read',
    },
  ],
  ownExitsFrom: OWN_EXITS,
  async run(input, context) {
    const { call } = input.options;
    if (typeof call === 'string') return collectCommand(call, input, context);
    // SECURITY: T-03 — alone it would look like a command.
    if (input.options['for'] !== undefined) {
      throw new CliError('cli.invalid_usage', '--for goes with --call.', { fix: 'Write palyra exec -- COMMAND.' });
    }
    const command = commandOf(input, context);
    return withDaemon(context, 'agent', async (reached) => {
      const run = await startRunHere(reached, command.cwd, context);
      try {
        return await runCommand(run, command, context);
      } finally {
        await leave(run);
      }
    });
  },
};

/** As people know it from other tools. */
export const run: CommandDefinition = { ...exec, name: 'run', isAlias: true };

/** What ran is on record already: nobody waits for a palyrad that is gone. */
async function leave(started: Run): Promise<void> {
  await started.end().catch(() => undefined);
}

function commandOf({ rest, options }: CommandInput, context: CommandContext): CommandToRun {
  if (rest.length === 0) {
    throw new CliError('cli.missing_argument', 'The argument "COMMAND" is missing.', {
      fix: 'Write the command after --, such as palyra exec -- git status.',
    });
  }
  const timeoutMs = durationOf(options['timeout'], '--timeout');
  const sandbox = options['sandbox'] === undefined ? undefined : sandboxOf(options['sandbox']);
  return {
    argv: rest,
    cwd: typeof options['cwd'] === 'string' ? resolvePath(options['cwd'], context) : context.workingDirectory(),
    ...(sandbox === undefined ? {} : { sandbox }),
    ...networkOption(options['net'], sandbox ?? 'strict'),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    environment: environmentOf(options['env']),
    stdin: options['stdin'] !== false,
    tty: options['tty'] !== false,
  };
}

function sandboxOf(typed: unknown): 'strict' | 'limits' {
  if (typed === 'strict' || typed === 'limits') return typed;
  throw new CliError('cli.invalid_option', '--sandbox takes strict or limits.', {
    fix: 'Leave it out for the box (strict).',
  });
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
