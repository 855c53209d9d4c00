import { exitOfOutcome } from '@palyra/agents/exits';
import { type JsonValue, parseJson } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';
import type { CommandContext, CommandDefinition } from '../command.ts';
import { withDaemon } from '../reach-daemon.ts';
import { readStdin } from '../read-stdin.ts';
import { renderResult } from '../render/call-result.ts';
import { startRunHere } from '../workspace-here.ts';

/** Any tool through the pipeline, as an agent would call it. */
export const toolCall: CommandDefinition = {
  name: 'tool call',
  group: 'Agents',
  summary: 'Propose one call of any tool',
  arguments: [{ name: 'TOOL', summary: 'Such as palyra.fs.read: see palyra tool list', isRequired: true }],
  options: [
    { flags: '--input <JSON>', summary: 'Its input; - reads it from standard input ({})' },
    { flags: '--says <TEXT>', summary: 'Why; shown to whoever is asked' },
  ],
  async run({ arguments: [tool = ''], options }, context) {
    const input = await inputOf(options['input'], context);
    return withDaemon(context, 'agent', async (reached) => {
      const run = await startRunHere(reached, context.workingDirectory(), context);
      const says = typeof options['says'] === 'string' ? { says: options['says'] } : {};
      const result = await run.call(tool, input, {
        ...says,
        signal: context.signal,
        onEvent(event) {
          if (event.kind !== 'approval_requested') return;
          context.terminal?.progress(`A human is being asked: palyra approve ${event.approval_id.slice(-6)}`);
        },
      });
      await run.end();
      const exit = exitOfOutcome(result);
      return {
        json: result,
        render: (paint) => renderResult(result, paint),
        // Here the exit codes are those of every command.
        exitCode: { program: exit >= 240 ? exit - 240 : exit === 0 ? 0 : 6 },
      };
    });
  },
};

async function inputOf(typed: unknown, context: CommandContext): Promise<JsonValue> {
  const text =
    typed === '-' ? Buffer.from(await readStdin(context)).toString() : typeof typed === 'string' ? typed : '{}';
  try {
    return parseJson(text);
  } catch (cause) {
    throw new CliError('cli.invalid_option', 'The input is not JSON.', {
      fix: 'Write --input \'{"path":"README.md"}\', or --input - and give it on standard input.',
      cause,
    });
  }
}
