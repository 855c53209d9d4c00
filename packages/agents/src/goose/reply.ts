import type { AgentAnswer, AgentEvent, HookReply } from '../agent-event.ts';
import { blocked, CANNOT_REWRITE, said } from '../hook-reply.ts';

/** Nothing on standard output is a yes, and anything there that is no decision is none. */
export function reply(answer: AgentAnswer, _event: AgentEvent): HookReply {
  switch (answer.kind) {
    case 'no_objection':
      return said();
    case 'run_instead':
      return blocked(CANNOT_REWRITE);
    case 'refused':
      return blocked(answer.reason);
  }
}
