import { denyTarget, type EgressDenial } from '../denial.ts';
import { covers, schemesFor } from '../hosts/host-rule.ts';
import type { Scheme } from '../hosts/target.ts';
import type { CallSession } from './call-session.ts';
import type { Line } from './line.ts';
import type { OpenAttempt } from './open-attempt.ts';

export type Verdict =
  | { readonly kind: 'allowed'; readonly schemes: 'any' | readonly Scheme[] }
  | { readonly kind: 'denied'; readonly denial: EgressDenial }
  /** Nobody waits for it any more. */
  | { readonly kind: 'gone' };

/** By the name alone: nothing of it has been resolved yet. */
export async function decideTarget(
  session: CallSession,
  attempt: OpenAttempt,
  line: Pick<Line, 'onGone'>,
): Promise<Verdict> {
  const { order } = session;
  const { target } = attempt;
  // SECURITY: T-51 — no question goes to a name server before the name is allowed: its labels would be the message.
  if (order.mode === 'none') return { kind: 'allowed', schemes: 'any' };
  if (order.rules.some((rule) => covers(rule, target))) {
    return { kind: 'allowed', schemes: schemesFor(order.rules, target) };
  }
  if (!order.asks) return { kind: 'denied', denial: denyTarget(target, order.rules) };
  attempt.asked();
  const answer = await session.ask(target, line);
  if (answer === undefined) return { kind: 'gone' };
  return answer.kind === 'allowed' ? { kind: 'allowed', schemes: 'any' } : answer;
}
