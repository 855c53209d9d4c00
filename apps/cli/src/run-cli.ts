import { EXIT_CODES, type ExitCode, exitCodeOf } from '@palyra/agents/exits';
import type { LogThreshold } from '@palyra/config';
import type { CommandContext, CommandDefinition, OutputStream, ProgramExit } from './command.ts';
import { findHome, type HomeContext } from './find-home.ts';
import { type Invocation, parseCommandLine, wantsJson } from './parse-command-line.ts';
import { renderError, renderWarning } from './render/error.ts';
import { helpAsJson, renderHelp } from './render/help.ts';
import { renderJson } from './render/json.ts';
import { choosePaint } from './render/paint.ts';
import { openTerminal } from './terminal.ts';
import { writeOutput } from './write-output.ts';

/** The process as values, so that a test can be the process. */
export interface CliProcess
  extends Omit<CommandContext, 'home' | 'terminal' | 'asJson' | 'openOutput' | 'columns' | 'takeSignals'>,
    Partial<Pick<CommandContext, 'takeSignals'>> {
  readonly argv: readonly string[];
  readonly version: string;
  readonly nodeVersion: string;
  readonly commands: readonly CommandDefinition[];
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
}

/** Runs one command line and says how to exit. Never rejects: every fault ends in the error form and a code. */
export async function runCli(cli: CliProcess): Promise<number> {
  const asJson = wantsJson(cli.argv);
  let home: string | undefined;
  // Before the command line is understood, whoever typed `exec` still expects its exit codes.
  let ownExitsFrom = cli.commands.find(({ name }) => name === cli.argv[0])?.ownExitsFrom ?? 0;
  try {
    const invocation = parseCommandLine(cli.argv, cli.commands);
    if (invocation.kind === 'run') {
      ({ home } = invocation);
      ({ ownExitsFrom = 0 } = invocation.command);
    }
    const answer = await untilAborted(answerTo(invocation, cli), cli.signal);
    if (answer.kind === 'interrupted') return EXIT_CODES.interrupted;
    await print(answer.output, { cli, asJson });
    if (cli.signal.aborted) return EXIT_CODES.interrupted;
    return numberOf(answer.output.exitCode);
  } catch (thrown) {
    if (cli.signal.aborted) return EXIT_CODES.interrupted;
    await report(thrown, { cli, asJson, home });
    return ownExitsFrom + exitCodeOf(thrown);
  }
}

function numberOf(exit: ExitCode | ProgramExit = EXIT_CODES.done): number {
  return typeof exit === 'number' ? exit : exit.program;
}

/** For what was thrown where nobody waited: the same form, the same code. */
export async function endWithFault(thrown: unknown, cli: CliProcess): Promise<ExitCode> {
  await report(thrown, { cli, asJson: wantsJson(cli.argv), home: undefined });
  return exitCodeOf(thrown);
}

type Output = Awaited<ReturnType<CommandDefinition['run']>>;

async function answerTo(invocation: Invocation, cli: CliProcess): Promise<Output> {
  switch (invocation.kind) {
    case 'version':
      return { json: { version: cli.version, node: cli.nodeVersion }, render: () => `palyra ${cli.version}\n` };
    case 'help': {
      const input = { topic: invocation.topic, commands: cli.commands, version: cli.version };
      return { json: helpAsJson(input), render: (paint) => renderHelp(input, paint) };
    }
    case 'run':
      return runCommand(invocation, cli);
  }
}

async function runCommand(
  { command, input, home }: Extract<Invocation, { readonly kind: 'run' }>,
  cli: CliProcess,
): Promise<Output> {
  const terminal = openTerminal(cli);
  try {
    return await command.run(input, {
      ...cli,
      home,
      terminal: terminal?.terminal,
      asJson: wantsJson(cli.argv),
      openOutput() {
        terminal?.clear();
        return cli;
      },
      columns: () => (cli.stdout.isTTY === true ? cli.stdout.columns : undefined),
      takeSignals: cli.takeSignals ?? (() => ({ release: () => undefined })),
    });
  } finally {
    terminal?.clear();
  }
}

type Answer = { readonly kind: 'answered'; readonly output: Output } | { readonly kind: 'interrupted' };

/** A command that does not hear the signal is left behind; the process ends all the same. */
async function untilAborted(output: Promise<Output>, signal: AbortSignal): Promise<Answer> {
  const interrupted = new Promise<Answer>((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'interrupted' }), { once: true });
  });
  return Promise.race([output.then((value): Answer => ({ kind: 'answered', output: value })), interrupted]);
}

interface PrintContext {
  readonly cli: CliProcess;
  readonly asJson: boolean;
}

async function print(output: Output, { cli, asJson }: PrintContext): Promise<void> {
  if (output.stream !== undefined) return printStream(output.stream, cli);
  if (asJson) {
    await writeOutput(cli.stdout, renderJson(output.json));
    return;
  }
  const paint = paintFor(cli.stderr, cli);
  const warnings = (output.warnings ?? []).map((sentence) => renderWarning(sentence, paint));
  const raw = cli.stdout.isTTY === true ? undefined : output.bytes;
  await writeOutput(cli.stdout, raw ?? output.render(paintFor(cli.stdout, cli)));
  await writeOutput(cli.stderr, `${warnings.join('')}${output.trailer ?? ''}`);
}

async function printStream(stream: AsyncIterable<string>, cli: CliProcess): Promise<void> {
  for await (const text of stream) {
    await writeOutput(cli.stdout, text);
    // Nobody reads any more, or the person at the keyboard has had enough.
    if (cli.stdout.destroyed || cli.stdout.errored != null || cli.signal.aborted) return;
  }
}

async function report(
  thrown: unknown,
  { cli, asJson, home }: PrintContext & Pick<CommandContext, 'home'>,
): Promise<void> {
  const withStack = (await logLevelOf({ ...cli, home })) === 'debug';
  try {
    await writeOutput(cli.stderr, renderError(thrown, { asJson, withStack, paint: paintFor(cli.stderr, cli) }));
  } catch {
    // Nobody can be told that nobody can be told; the exit code still says it.
  }
}

function paintFor(stream: OutputStream, cli: CliProcess): ReturnType<typeof choosePaint> {
  return choosePaint({ isTerminal: stream.isTTY === true, variables: cli.variables });
}

/** Asked when something has already failed, so a second failure must not hide the first. */
async function logLevelOf(context: HomeContext): Promise<LogThreshold> {
  try {
    const { loadConfig } = await import('@palyra/config');
    return loadConfig(findHome(context)).config.log.level;
  } catch {
    return 'info';
  }
}
