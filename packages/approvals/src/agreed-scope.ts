import { isSame } from './check-statement.ts';
import type { DecisionStatement } from './decision-statement.ts';
import type { DecisionScope } from './question.ts';

export interface AgreedScope {
  readonly scope: DecisionScope;
  readonly expiresAt: number;
}

/** Several people agree to what all of them said: the same reach, or else this one use, and the shortest time. */
export function scopeOfAll(all: readonly DecisionStatement[]): AgreedScope {
  const [first] = all;
  const agree = all.every((each) => each.scope === first?.scope && isSame(each.pattern, first.pattern));
  const expiresAt = Math.min(...all.map((each) => each.expires_at));
  return { scope: agree && first !== undefined ? first.scope : 'once', expiresAt };
}
