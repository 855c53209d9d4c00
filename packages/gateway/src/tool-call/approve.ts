import { decidedEvent } from './call-end.ts';
import { permit } from './permitted-call.ts';
import { questionOf } from './question-of.ts';
import type { ToolCallSteps } from './run-tool-call.ts';
import { type SeekDeps, seekApproval } from './seek-approval.ts';

/** The only maker of permitted calls. */
export function createApprove(deps: SeekDeps): ToolCallSteps['approve'] {
  return async (decided, ledger) => {
    const sought = await seekApproval(
      decided,
      {
        async question(call) {
          const bound = await call.plan.bind();
          if (bound.kind === 'refused') return bound;
          return { kind: 'question', question: questionOf(call, bound, deps.rules) };
        },
        async record(call) {
          ledger.follow(call);
          await ledger.decided(call.decision, call.under);
          call.proposed.onEvent?.(decidedEvent(call.decision));
        },
        whenParked: 'Propose the same call with the same key again; it runs once, when it is approved.',
      },
      deps,
    );
    return sought.kind === 'refused' ? sought : { kind: 'passed', call: permit(sought.call) };
  };
}
