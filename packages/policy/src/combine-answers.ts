import type { AuthorizationAnswer, PolicyFault } from './cedar.ts';

/** `failed` is no decision at all: the caller refuses. So is an allow with errors, which is also up to the caller. */
export type EvaluationResult =
  | { readonly kind: 'failed'; readonly message: string }
  | {
      readonly kind: 'decided';
      readonly decision: 'allow' | 'deny';
      /** Sorted ids of the policies that decided. */
      readonly reasons: readonly string[];
      /** Sorted by policy. */
      readonly errors: readonly PolicyFault[];
    };

/**
 * The answer of a set from the answers of its parts. Cedar denies when any `forbid` holds, and names those; else it
 * allows when any `permit` holds, and names those; else it denies and names none. So a part that denies with reasons
 * has a `forbid` that holds, and one that allows has only `permit`s that do: joined, they are the whole set's.
 * One part without an answer leaves the whole without one.
 */
export function combineAnswers(answers: readonly AuthorizationAnswer[]): EvaluationResult {
  const permits: string[] = [];
  const forbids: string[] = [];
  const errors: PolicyFault[] = [];
  for (const answer of answers) {
    if (answer.kind === 'failed') return { kind: 'failed', message: messageOf(answer) };
    (answer.decision === 'allow' ? permits : forbids).push(...answer.reasons);
    errors.push(...answer.errors);
  }
  const isAllowed = forbids.length === 0 && permits.length > 0;
  return {
    kind: 'decided',
    decision: isAllowed ? 'allow' : 'deny',
    // Cedar gives them in no order; what is hashed or signed must be the same each time.
    reasons: (isAllowed ? permits : forbids).toSorted(),
    errors: errors.toSorted((left, right) => (left.policyId < right.policyId ? -1 : 1)),
  };
}

function messageOf({ problems }: Extract<AuthorizationAnswer, { kind: 'failed' }>): string {
  const [first] = problems;
  if (first === undefined) return 'Cedar failed without saying why.';
  return first.help === undefined ? first.message : `${first.message} (${first.help})`;
}
