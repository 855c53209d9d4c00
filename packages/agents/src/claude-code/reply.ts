import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, said } from '../hook-reply.ts';

/** `allow` is said only of what runs in our box; the user's own deny and ask rules hold even then. */
export function reply(answer: AgentAnswer, event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said();
    case 'run_instead':
      return said({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'allow',
          permissionDecisionReason: 'Palyra runs it in the box.',
          updatedInput: { ...(event.kind === 'before' ? event.input : {}), command: answer.command },
        },
      });
    case 'refused':
      return blocked(answer.reason);
  }
}
