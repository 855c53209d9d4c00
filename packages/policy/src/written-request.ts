import { visibleText } from '@palyra/primitives';
import { nearestKey } from './nearest-key.ts';
import { PolicyError } from './policy-error.ts';
import { keysAt, testFileSchema, type WrittenRequest } from './policy-test-format.ts';
import type { PolicyEvaluationConfig, PolicyRequest } from './request.ts';
import { testConfig, testRequest } from './test-request.ts';

export interface AskedRequest {
  readonly request: PolicyRequest;
  readonly config: PolicyEvaluationConfig;
}

/**
 * A request in the words of policy tests, as JSON has them, with the same defaults: `{}` is a process in its box. Times
 * are texts. Throws `policy.invalid_request` and names every key at fault.
 */
export function readWrittenRequest(written: unknown): AskedRequest {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw new PolicyError('policy.invalid_request', 'A request is a JSON object.', { fix: SEE });
  }
  const result = testFileSchema.safeParse({ defaults: withTime(written) });
  if (!result.success) {
    const sentences = result.error.issues.map(({ path, message, ...issue }) => {
      const key = path.slice(1).join('.');
      if (issue.code !== 'unrecognized_keys') return `${visibleText(key)}: ${message}.`;
      const inner = path.length > 1 ? ['test', ...path.slice(1)] : ['test'];
      return issue.keys.map((unknown) => unknownKey(key, unknown, keysAt(inner))).join(' ');
    });
    throw new PolicyError('policy.invalid_request', sentences.join(' '), { fix: SEE });
  }
  return toRequest(result.data.defaults);
}

const SEE = 'docs/reference/policy.md lists what a request may hold.';

/** JSON has no times, so they are written as RFC 3339 texts. What is not one is left to the schema to refuse. */
function withTime(written: object): object {
  const { now }: { now?: unknown } = written;
  if (typeof now !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/.test(now))
    return written;
  return { ...written, now: new Date(now) };
}

function unknownKey(parent: string, key: string, known: readonly string[]): string {
  const shown = visibleText(parent === '' ? key : `${parent}.${key}`, { maxCharacters: 80 });
  const nearest = nearestKey(key, known);
  return `There is no key ${shown}${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}.`;
}

function toRequest(written: WrittenRequest): AskedRequest {
  try {
    return { request: testRequest({}, written), config: testConfig({}, written) };
  } catch (thrown) {
    if (!(thrown instanceof PolicyError)) throw thrown;
    throw new PolicyError('policy.invalid_request', thrown.message, { fix: SEE, cause: thrown });
  }
}
