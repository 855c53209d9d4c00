import { GatewayError } from '../gateway-error.ts';
import type { DecidedCall } from './decided-call.ts';

declare const permitted: unique symbol;

/**
 * A call that policy allows, with a human's word where that was needed. Only `permit` makes one, and it is good for one
 * execution.
 */
export interface PermittedCall extends DecidedCall {
  readonly [permitted]: true;
}

/** SECURITY: T-01 — the type keeps an undecided call from compiling, this set keeps one from running that was cast. */
const unused = new WeakSet<object>();

/** For `approve`, and nobody else: an architecture test holds the sources to it. */
export function permit(call: DecidedCall): PermittedCall {
  const made = Object.freeze({ ...call }) as PermittedCall;
  unused.add(made);
  return made;
}

/** Throws `gateway.not_permitted` for anything that `permit` has not made, and the second time. */
export function consume(call: PermittedCall): void {
  // SECURITY: T-01 — used up before it runs, so that it cannot run twice.
  if (unused.delete(call)) return;
  throw new GatewayError('gateway.not_permitted', 'The call was not permitted, or ran already.');
}
