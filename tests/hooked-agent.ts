import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WorkspaceService } from '@palyra/api';
import { findHook } from '@palyra/sandbox';
import { type PalyradProcess, type StartOptions, startPalyrad } from './palyrad-process.ts';

/** What a program said, and how it ended. */
export interface Said {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** palyrad, a workspace, and an agent whose hook is the real program. */
export interface HookedAgent extends AsyncDisposable {
  readonly palyrad: PalyradProcess;
  readonly workspace: string;
  readonly hook: readonly [string, ...string[]];
  /** The hook's answer to a message of the agent, with more arguments of the hook's. */
  say(message: unknown, more?: readonly string[]): Promise<Said>;
  /** A message of Claude Code. */
  event(name: 'PreToolUse' | 'PostToolUse', tool: string, input: unknown, more?: Record<string, unknown>): unknown;
}

export const PALYRA: string = fileURLToPath(new URL('../apps/cli/bin/palyra.mjs', import.meta.url));

export async function startHookedAgent(options: StartOptions = {}): Promise<HookedAgent> {
  const palyrad = await startPalyrad(options);
  const workspace = join(palyrad.root, 'work');
  await mkdir(workspace);
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  const hook = [findHook() ?? 'palyra-hook', 'claude-code', '--home', palyrad.home.root, '--palyra', PALYRA] as const;
  return {
    palyrad,
    workspace,
    hook,
    say: (message, more = ['--patience', '60']) => run([...hook, ...more], asText(message)),
    event: (name, tool, input, more = {}) => ({
      hook_event_name: name,
      session_id: 'one',
      cwd: workspace,
      tool_name: tool,
      tool_input: input,
      ...more,
    }),
    [Symbol.asyncDispose]: () => palyrad[Symbol.asyncDispose](),
  };
}

export async function run(argv: readonly [string, ...string[]], input = ''): Promise<Said> {
  const [program, ...rest] = argv;
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  // One that is gone before it has read everything has said what it has to say.
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

function asText(message: unknown): string {
  return typeof message === 'string' ? message : JSON.stringify(message);
}

/** The command that Claude Code is told to run instead. */
export function rewritten({ stdout }: Pick<Said, 'stdout'>): string {
  const { hookSpecificOutput: output } = JSON.parse(stdout) as {
    readonly hookSpecificOutput: { readonly updatedInput: { readonly command: string } };
  };
  return output.updatedInput.command;
}
