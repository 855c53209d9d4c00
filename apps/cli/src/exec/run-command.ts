import { exitOfOutcome, whyWords } from '@palyra/agents/exits';
import type { Run, ToolCallResult } from '@palyra/client';
import type { JsonValue } from '@palyra/primitives';
import type { CommandContext, CommandResult } from '../command.ts';
import { choosePaint } from '../render/paint.ts';
import { writeOutput } from '../write-output.ts';
import { type AttachOptions, attachInput } from './attached-input.ts';
import { receiptLine } from './receipt-line.ts';

export interface CommandToRun extends AttachOptions {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly sandbox?: 'strict' | 'limits';
  readonly network?: readonly string[];
  readonly egress?: 'none' | 'preflight' | 'strict';
  readonly unlisted?: 'ask' | 'deny';
  readonly timeoutMs?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

const TOOL = 'palyra.process.run';

/** One command through the whole pipeline, as if it had been started here. */
export async function runCommand(run: Run, command: CommandToRun, context: CommandContext): Promise<CommandResult> {
  const { stdout, stderr } = context.openOutput();
  const began = performance.now();
  const cancelled = new AbortController();
  let isRunning = false;
  // Before it runs there is nothing to signal: whoever wants to stop then does not want it to begin.
  const attachment = attachInput(context, {
    ...command,
    onSignal: () => {
      if (!isRunning) cancelled.abort();
    },
  });
  try {
    const result = await run.call(TOOL, inputOf(command, attachment.terminal), {
      input: attachment.input,
      signal: cancelled.signal,
      async onOutput({ stream, data }) {
        if (!context.asJson) await writeOutput(stream === 'stdout' ? stdout : stderr, data);
      },
      onEvent(event) {
        if (event.kind === 'execution_started') isRunning = true;
        if (event.kind === 'approval_requested') context.terminal?.show(waitingFor(event.approval_id));
      },
    });
    return {
      json: result,
      render: () => '',
      trailer: trailerOf(result, context, performance.now() - began),
      exitCode: { program: exitOfOutcome(result) },
    };
  } finally {
    attachment.release();
  }
}

function inputOf(
  { argv, cwd, sandbox, network, egress, unlisted, timeoutMs, environment, stdin }: CommandToRun,
  terminal: ReturnType<typeof attachInput>['terminal'],
): JsonValue {
  return {
    argv: [...argv],
    cwd,
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(network === undefined ? {} : { network: [...network] }),
    ...(egress === undefined ? {} : { egress }),
    ...(unlisted === undefined ? {} : { unlisted }),
    ...(timeoutMs === undefined ? {} : { timeout_ms: timeoutMs }),
    ...(environment === undefined ? {} : { environment: { ...environment } }),
    ...(stdin ? { stdin_open: true } : {}),
    ...(terminal === undefined ? {} : { terminal: { ...terminal } }),
  };
}

const SHOWN_OF_ID = 6;

function waitingFor(approvalId: string): string {
  return `palyra: a human is being asked. To answer: palyra approve ${approvalId.slice(-SHOWN_OF_ID)}`;
}

/** On standard error: why nothing ran, for everybody; the receipt, for a person. */
export function trailerOf(result: ToolCallResult, context: CommandContext, tookMs: number): string {
  const { stderr } = context.openOutput();
  const paint = choosePaint({ isTerminal: stderr.isTTY === true, variables: context.variables });
  const why = whyWords(result, paint);
  return stderr.isTTY === true ? `${why}${receiptLine(result, tookMs, paint)}` : why;
}
