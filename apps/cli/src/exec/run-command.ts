import { exitOfOutcome, whyWords } from '@palyra/agents/exits';
import type { Run, ToolCallResult } from '@palyra/client';
import type { JsonValue } from '@palyra/primitives';
import type { CommandContext, CommandResult } from '../command.ts';
import { choosePaint } from '../render/paint.ts';
import { writeOutput } from '../write-output.ts';
import { type AttachOptions, attachInput } from './attached-input.ts';
import { hintLine } from './hint-line.ts';
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
const LINE_END = 0x0a;
/** As shells count it: 128 + SIGPIPE. */
const UNREAD_EXIT = 141;

/** One command through the whole pipeline, as if it had been started here. */
export async function runCommand(run: Run, command: CommandToRun, context: CommandContext): Promise<CommandResult> {
  const { stdout, stderr } = context.openOutput();
  const began = performance.now();
  const cancelled = new AbortController();
  let isRunning = false;
  let isUnread = false;
  let isMidLine = false;
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
        if (context.asJson) return;
        const target = stream === 'stdout' ? stdout : stderr;
        if (target.isTTY === true) isMidLine = data.at(-1) !== LINE_END;
        if ((await writeOutput(target, data)) === 'written') return;
        // As a closed pipe would have ended it, had it been started here.
        isUnread = true;
        cancelled.abort();
      },
      onEvent(event) {
        if (event.kind === 'execution_started') isRunning = true;
        if (event.kind === 'approval_requested') context.terminal?.show(waitingFor(event.approval_id));
      },
    });
    if (isUnread && result.outcome.kind === 'cancelled') {
      return { json: result, render: () => '', exitCode: { program: UNREAD_EXIT } };
    }
    return {
      json: result,
      render: () => '',
      trailer: `${isMidLine && stderr.isTTY === true ? '\n' : ''}${trailerOf(result, context, performance.now() - began)}`,
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

/** On standard error: why nothing ran, for everybody; what may have been in its way, and the receipt, for a person. */
export function trailerOf(result: ToolCallResult, context: CommandContext, tookMs: number): string {
  const { stderr } = context.openOutput();
  const paint = choosePaint({ isTerminal: stderr.isTTY === true, variables: context.variables });
  const why = whyWords(result, paint);
  return stderr.isTTY === true ? `${why}${hintLine(result, paint)}${receiptLine(result, tookMs, paint)}` : why;
}
