import type { Approvals, DecideOutcome, Decider, DeciderIdentity, HumanAnswer } from '@palyra/approvals';
import type { ApprovalId } from '@palyra/primitives';

type WithoutShown<Each> = Each extends HumanAnswer ? Omit<Each, 'shown'> : never;
/** What a human says who has just looked. */
export type LookedAnswer = WithoutShown<HumanAnswer>;

/** Looks at the card and answers what it shows, as an inbox does. */
export async function decideAsShown(
  approvals: Approvals,
  id: ApprovalId,
  answer: LookedAnswer & { readonly by: Decider },
): Promise<DecideOutcome> {
  const { shown } = await approvals.get(id);
  return approvals.decide(id, { ...answer, shown });
}

export async function draftAsShown(
  approvals: Approvals,
  id: ApprovalId,
  answer: LookedAnswer & { readonly by: DeciderIdentity },
): Promise<string> {
  const { shown } = await approvals.get(id);
  return approvals.draft(id, { ...answer, shown });
}
