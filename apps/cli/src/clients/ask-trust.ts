import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { HookTrust, TrustAnswer } from '@palyra/agents';
import type { CommandContext } from '../command.ts';

const PATIENCE_MS = 10_000;

/** Asks the agent's own program whether it runs the hook. Undefined where there is no such program, or it says nothing. */
export async function askTrust(
  { argv: [program, ...args], questions, read }: HookTrust,
  hook: string,
  context: CommandContext,
): Promise<TrustAnswer | undefined> {
  const cwd = context.workingDirectory();
  const env = Object.fromEntries(Object.entries(context.variables).filter(([, value]) => value !== undefined));
  const child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
  const answered = Promise.withResolvers<TrustAnswer | undefined>();
  const giveUp = () => answered.resolve(undefined);
  const late = setTimeout(giveUp, PATIENCE_MS);
  child.once('error', giveUp).once('close', giveUp);
  child.stdin.on('error', giveUp);
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = read(line, hook);
    if (answer !== undefined) answered.resolve(answer);
  });
  for (const question of questions(cwd)) child.stdin.write(`${JSON.stringify(question)}\n`);
  try {
    return await answered.promise;
  } finally {
    clearTimeout(late);
    child.kill();
  }
}
