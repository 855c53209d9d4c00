import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, said } from '../hook-reply.ts';

/** Codex reads the answers of Claude Code; a rewritten command must come with `allow`. */
export function reply(answer: AgentAnswer, event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said();
    case 'run_instead':
      // It has no answer that would ask its user.
      if (answer.ask !== undefined) return blocked(answer.ask);
      return said({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'allow',
          updatedInput: { ...(event.kind === 'before' ? event.input : {}), command: answer.command },
        },
      });
    case 'refused':
      return blocked(answer.reason);
  }
}
