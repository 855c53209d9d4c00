import type { HookReply } from './agent-event.ts';

/**
 * Exit code 2 and the reason on standard error: every agent that has hooks takes it for a no, and no output can be lost or
 * misread on the way to it.
 */
export function blocked(reason: string, stdout = ''): HookReply {
  return { exitCode: 2, stdout, stderr: `${reason}\n` };
}

export function said(output?: unknown): HookReply {
  return { exitCode: 0, stdout: output === undefined ? '' : `${JSON.stringify(output)}\n`, stderr: '' };
}

/** What is refused to an agent that cannot be given another command. */
export const CANNOT_REWRITE =
  'Palyra: this agent takes no other command from a hook, so its shell cannot be put into the box. Use the tools of Palyra’s MCP server.';
