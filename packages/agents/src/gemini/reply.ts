import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, said } from '../hook-reply.ts';

/** What is given in `tool_input` replaces the same fields of the model's. */
export function reply(answer: AgentAnswer, _event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said({});
    case 'run_instead':
      return said({
        ...(answer.ask === undefined ? {} : { decision: 'ask', reason: answer.ask, systemMessage: answer.ask }),
        hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: { command: answer.command } },
      });
    case 'refused':
      return blocked(answer.reason);
  }
}
