import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, said } from '../hook-reply.ts';

/**
 * `allow` is said only of what runs in our box. Of the user's own rules it compares those alone with it that mean any command;
 * the others are looked at before (`rules.ts`), and `ask` is said for them.
 */
export function reply(answer: AgentAnswer, event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said();
    case 'run_instead':
      return said({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: answer.ask === undefined ? 'allow' : 'ask',
          permissionDecisionReason: answer.ask ?? 'Palyra runs it in the box.',
          updatedInput: { ...(event.kind === 'before' ? event.input : {}), command: answer.command },
        },
      });
    case 'refused':
      return blocked(answer.reason);
  }
}
