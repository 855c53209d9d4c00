import type { EvaluationRequest } from './cedar.ts';
import type { EvaluationResult, Evaluator } from './evaluator.ts';
import { pathsReadBy, readPolicy } from './policy-expressions.ts';
import type { PolicyRecord } from './policy-set.ts';

/**
 * What differs from call to call and is only for those policies that name it. `toCedarRequest` makes all of it valid by
 * itself, so that leaving it out of the comparison skips no refusal.
 */
const OFTEN_UNREAD = ['now', 'session_id', 'run_id', 'declared'] as const;

/** Four digits of year: Cedar refuses others, and so must never be spared the question. */
const PLAIN_INSTANT_CHARACTERS = '2026-11-16T00:00:00.000Z'.length;

const MOST_ANSWERS = 500;
const LONGEST_KEY = 8192;

/**
 * Asks Cedar once for requests that no policy of the set can tell apart. An answer follows from the policies and from what
 * they read of the request, so the set's own evaluator is asked only when some of that is new. Faults are not remembered.
 */
export function rememberAnswers(evaluator: Evaluator, policies: readonly PolicyRecord[]): Evaluator {
  const answers = new Map<string, EvaluationResult>();
  const unread = unreadBy(policies);
  let isClosed = false;
  return {
    ...evaluator,
    evaluate(request, options) {
      const key = isClosed || options?.validateRequest === false ? undefined : keyOf(request, unread);
      const known = key === undefined ? undefined : answers.get(key);
      if (known !== undefined) return known;
      const answer = evaluator.evaluate(request, options);
      if (key !== undefined && answer.kind === 'decided' && answer.errors.length === 0) remember(answers, key, answer);
      return answer;
    },
    close() {
      isClosed = true;
      answers.clear();
      evaluator.close();
    },
  };
}

/** SECURITY: T-09 — a policy that takes the whole context, or that cannot be read here, reads everything. */
function unreadBy(policies: readonly PolicyRecord[]): ReadonlySet<string> {
  const unread = new Set<string>(OFTEN_UNREAD);
  for (const policy of policies) {
    if (readPolicy(policy) === undefined) return new Set();
    for (const path of pathsReadBy(policy)) {
      const [variable, attribute] = path.split('.');
      if (variable !== 'context') continue;
      if (attribute === undefined) return new Set();
      unread.delete(attribute);
    }
  }
  return unread;
}

/** Everything that Cedar is told, but for what no policy reads. */
function keyOf(request: EvaluationRequest, unread: ReadonlySet<string>): string | undefined {
  const { now } = request.context as { readonly now?: { readonly __extn?: { readonly arg?: unknown } } };
  const { __extn: { arg: instant } = {} } = now ?? {};
  if (typeof instant !== 'string' || instant.length !== PLAIN_INSTANT_CHARACTERS) return undefined;
  const read: unknown[] = [];
  for (const name of Object.keys(request.context)) if (!unread.has(name)) read.push(name, request.context[name]);
  const key = JSON.stringify({ ...request, context: read });
  return key.length > LONGEST_KEY ? undefined : key;
}

function remember(answers: Map<string, EvaluationResult>, key: string, answer: EvaluationResult): void {
  const [oldest] = answers.keys();
  if (answers.size >= MOST_ANSWERS && oldest !== undefined) answers.delete(oldest);
  answers.set(key, answer);
}
