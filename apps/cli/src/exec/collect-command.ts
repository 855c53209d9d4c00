import { exitOfOutcome } from '@palyra/agents/exits';
import { AppError } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandInput, CommandResult } from '../command.ts';
import { withListeningDaemon } from '../reach-daemon.ts';
import { writeOutput } from '../write-output.ts';
import { trailerOf } from './run-command.ts';

/**
 * What an agent's shell runs in the place of its own command. It brings an id and nothing else (`--for` is for people who read
 * it): palyrad runs the command that was decided, once, and this passes on what that puts out and how it ends.
 */
export async function collectCommand(
  callId: string,
  { rest, options }: CommandInput,
  context: CommandContext,
): Promise<CommandResult> {
  // SECURITY: T-03 — whatever would change the command is refused, and not left out: nobody is to believe that it counts.
  const isMore = Object.entries(options).some(([name, value]) => !ALONE.has(name) && !isDefault(value));
  if (isMore || rest.length > 0) {
    throw new CliError('cli.invalid_usage', '--call stands alone: the command was decided before.', {
      fix: 'Write palyra exec --call ID.',
    });
  }
  const { stdout, stderr } = context.openOutput();
  const began = performance.now();
  const cancelled = new AbortController();
  // The agent wants it to end; palyrad ends it, with all that it started.
  const taken = context.takeSignals(() => cancelled.abort());
  let isHeard = false;
  try {
    const result = await withListeningDaemon(context, 'agent', ({ client }) =>
      client.collect(callId, {
        signal: cancelled.signal,
        async onOutput({ stream, data }) {
          isHeard = true;
          if (!context.asJson) await writeOutput(stream === 'stdout' ? stdout : stderr, data);
        },
      }),
    ).catch((error: unknown) => {
      // What was heard of has begun, and what somebody cancelled was not kept away.
      if (isHeard || cancelled.signal.aborted) throw error;
      return sayWhatKeepsItAway(error);
    });
    return {
      json: result,
      render: () => '',
      trailer: trailerOf(result, context, performance.now() - began),
      exitCode: { program: exitOfOutcome(result) },
    };
  } finally {
    taken.release();
  }
}

/** The hook has just reached it, so that it is gone is the lesser guess. */
function sayWhatKeepsItAway(error: unknown): never {
  if (!(error instanceof AppError) || error.code !== 'client.unreachable') throw error;
  throw new CliError('cli.daemon_not_running', 'palyrad cannot be reached from here, so the command does not run.', {
    fix: 'If the agent has a sandbox of its own, let it connect to 127.0.0.1 (of Codex: network_access = true, see docs/reference/agents.md); else run palyra up.',
    cause: error,
  });
}

const ALONE: ReadonlySet<string> = new Set(['call', 'for', 'home', 'json']);

/** Of those that are not typed: `--no-stdin` and `--no-tty` are true then, and a list is empty. */
function isDefault(value: unknown): boolean {
  return value === undefined || value === true || (Array.isArray(value) && value.length === 0);
}
