import { exitOfOutcome } from '@palyra/agents/exits';
import type { Run } from '@palyra/client';
import type { JsonValue } from '@palyra/primitives';
import type { CommandContext, CommandResult } from '../command.ts';
import { attachInput } from '../exec/attached-input.ts';
import { trailerOf } from '../exec/run-command.ts';
import type { Reached } from '../reach-daemon.ts';
import { choosePaint } from '../render/paint.ts';
import { writeOutput } from '../write-output.ts';
import { leaveAgentScreen } from './agent-screen.ts';
import { askInTerminal, betweenQuestions, type TerminalQuestions } from './ask-in-terminal.ts';
import type { AgentToWrap } from './choose-agent.ts';
import { renderSummary, summarise } from './session-summary.ts';

export interface Wrapping {
  readonly run: Run;
  readonly reached: Reached;
  readonly context: CommandContext;
}

/** As the gateway names it. */
const TOOL = 'palyra.agent.run';

/** The agent from its start to its end, as if it had been started here; then what it has done. */
export async function runWrapped(agent: AgentToWrap, { run, reached, context }: Wrapping): Promise<CommandResult> {
  const { stdout, stderr } = context.openOutput();
  const startedAt = Date.now();
  const began = performance.now();
  const cancelled = new AbortController();
  let isRunning = false;
  let questions: TerminalQuestions | undefined;
  const attachment = attachInput(context, {
    ...agent,
    takes: (bytes) => questions?.take(bytes) === true,
    onSignal: () => {
      if (!isRunning) cancelled.abort();
    },
  });
  // Where nobody can type an answer, nobody is asked here.
  if (attachment.terminal !== undefined) {
    questions = await askInTerminal({ home: reached.home, session: run.session, context, redraw: attachment.redraw });
  }
  let left: Promise<void> | undefined;
  const leave = () => {
    left ??= (async () => {
      attachment.release();
      await questions?.close();
      leaveAgentScreen({ stdout, stderr });
      await run.end().catch(() => undefined);
    })();
    return left;
  };
  try {
    const result = await run.call(TOOL, inputOf(agent, attachment.terminal), {
      input: attachment.input,
      signal: cancelled.signal,
      async onOutput({ stream, data }) {
        await betweenQuestions(questions, async () => {
          questions?.saw(data);
          await writeOutput(context.asJson || stream === 'stderr' ? stderr : stdout, data);
        });
      },
      onEvent(event) {
        if (event.kind === 'execution_started') isRunning = true;
      },
    });
    await leave();
    const asked = questions?.asked() ?? 0;
    const summary = await summarise({ run: run.id, agent, result, startedAt, asked, reached, context });
    const paint = choosePaint({ isTerminal: stderr.isTTY === true, variables: context.variables });
    return {
      json: summary,
      render: () => '',
      trailer: `${trailerOf(result, { ...context, openOutput: () => ({ stdout, stderr: quiet(stderr) }) }, performance.now() - began)}${renderSummary(summary, paint)}`,
      exitCode: { program: exitOfOutcome(result) },
    };
  } finally {
    await leave();
  }
}

/** The receipt is in the summary; why nothing ran is said all the same. */
function quiet(stderr: ReturnType<CommandContext['openOutput']>['stderr']): typeof stderr {
  return Object.create(stderr, { isTTY: { value: false } }) as typeof stderr;
}

function inputOf(agent: AgentToWrap, terminal: ReturnType<typeof attachInput>['terminal']): JsonValue {
  const { profile, argv, cwd, network, egress, unlisted, environment, stdin } = agent;
  return {
    profile,
    argv: [...argv],
    cwd,
    ...(network === undefined ? {} : { network: [...network] }),
    ...(egress === undefined ? {} : { egress }),
    ...(unlisted === undefined ? {} : { unlisted }),
    environment: { ...environment },
    ...(stdin ? { stdin_open: true } : {}),
    ...(terminal === undefined ? {} : { terminal: { ...terminal } }),
  };
}
