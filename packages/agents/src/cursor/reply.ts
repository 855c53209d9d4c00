import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, said } from '../hook-reply.ts';

export function reply(answer: AgentAnswer, event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said({});
    case 'run_instead':
      // It has no answer that would ask its user.
      if (answer.ask !== undefined) return blocked(answer.ask);
      return said({
        permission: 'allow',
        updated_input: { ...(event.kind === 'before' ? event.input : {}), command: answer.command },
      });
    case 'refused': {
      const told = { permission: 'deny', user_message: answer.reason, agent_message: answer.reason };
      return blocked(answer.reason, `${JSON.stringify(told)}\n`);
    }
  }
}
