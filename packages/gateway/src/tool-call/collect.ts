import { refusedBy } from './call-end.ts';
import type { ToolCallSteps } from './run-tool-call.ts';

/**
 * A command of an agent's own shell is decided when the agent's hook asks, and runs when the agent comes for it. Between the
 * two it holds no turn and no intent: what the policies of then do not allow does not begin, and an approval is unused.
 */
export const collect: ToolCallSteps['collect'] = async (call) => {
  const { proposed, signal } = call;
  if (proposed.collected === undefined) return { kind: 'passed', call };
  const coming = proposed.collected(signal);
  proposed.onEvent?.({ kind: 'permitted' });
  if (await coming) return { kind: 'passed', call };
  return refusedBy(
    'gateway.not_collected',
    'The call was permitted, and the agent did not come for it in time.',
    'Propose it again.',
  );
};
