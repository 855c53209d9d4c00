import { AppError } from '@palyra/primitives';

/** Codes are API: add one, never rename one. */
export const POLICY_ERRORS = {
  'policy.edits_pending': 'There are edits that nobody applied, which would come into force along with something else.',
  'policy.evaluation_failed': 'Cedar gave no answer, so the call is refused.',
  'policy.invalid_annotation': 'An annotation on a policy is unknown or malformed.',
  'policy.invalid_policy_set': 'A policy does not parse or does not match the Cedar schema.',
  'policy.invalid_request': 'A request holds a name that is not canonical, or a value out of bounds.',
  'policy.invalid_schema': 'The Cedar schema does not parse.',
  'policy.invalid_test': 'A policy test is malformed.',
  'policy.test_failed': 'A policy test does not get the answer it expects.',
  'policy.too_large': 'There are more policies than one set may hold.',
  'policy.unreadable': 'A policy file is there but cannot be read.',
  'policy.unsafe_permissions': 'Other users of this machine could change a policy file.',
} as const;

export type PolicyErrorCode = keyof typeof POLICY_ERRORS;

/** Where in the operator's files the fault is, so that a person can go there. */
export interface PolicyProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export class PolicyError extends AppError<PolicyErrorCode> {
  readonly problems: readonly PolicyProblem[];

  constructor(
    code: PolicyErrorCode,
    message: string,
    options: { readonly fix?: string; readonly cause?: unknown; readonly problems?: readonly PolicyProblem[] } = {},
  ) {
    const { problems = [], ...rest } = options;
    super(code, message, rest);
    this.problems = problems;
  }
}
