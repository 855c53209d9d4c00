import { readFile } from 'node:fs/promises';
import { createEvaluator, type EvaluationRequest, type EvaluationResult, type Evaluator } from '@palyra/policy';
import { type CasePlace, type CedarCase, type CedarCaseRequest, loadCase } from './cedar-case.ts';
import type { VectorOutcome } from './suite.ts';

/** What became of one request of a case. */
export interface NamedOutcome {
  /** Empty, or the request's description and a colon. */
  readonly name: string;
  readonly outcome: VectorOutcome;
}

/** Every request of one file, or nothing when the file is no case. */
export async function checkCaseFile(place: CasePlace): Promise<readonly NamedOutcome[]> {
  const loaded = await loadCase(await readFile(place.file, 'utf8'), place);
  switch (loaded.kind) {
    case 'no_case':
      return [];
    case 'failed':
    case 'unsupported':
      return everyRequest(Math.max(1, loaded.requests), { kind: loaded.kind, why: loaded.why });
    case 'case':
      return checkCase(loaded.case);
  }
}

async function checkCase(test: CedarCase): Promise<readonly NamedOutcome[]> {
  const count = Math.max(1, test.requests.length);
  if (test.isValid !== test.shouldValidate) {
    const why = `validation says ${verdict(test.isValid)}, ${verdict(test.shouldValidate)} is expected`;
    return everyRequest(count, { kind: 'failed', why });
  }
  const { schema, policies, isValid } = test;
  let evaluator: Evaluator;
  try {
    evaluator = await createEvaluator({ schema, policies, strictlyValid: isValid });
  } catch (error) {
    return everyRequest(count, { kind: 'failed', why: error instanceof Error ? error.message : String(error) });
  }
  try {
    return test.requests.map((request) => ({
      name: `${request.description}: `,
      outcome: checkRequest(request, evaluator, test.entities),
    }));
  } finally {
    evaluator.close();
  }
}

function checkRequest(
  { request, expected, validateRequest }: CedarCaseRequest,
  evaluator: Evaluator,
  entities: EvaluationRequest['entities'],
): VectorOutcome {
  const ours = summary(evaluator.evaluate({ ...request, entities }, { validateRequest }));
  const theirs = `${expected.decision}, reasons [${expected.reasons.join()}], errors [${expected.errors.join()}]`;
  return ours === theirs ? { kind: 'passed' } : { kind: 'failed', why: `we say ${ours}; expected is ${theirs}` };
}

function summary(result: EvaluationResult): string {
  if (result.kind === 'failed') return `nothing, because ${result.message.replaceAll(/\s+/g, ' ')}`;
  const errors = result.errors.map(({ policyId }) => policyId);
  return `${result.decision}, reasons [${result.reasons.join()}], errors [${errors.join()}]`;
}

function everyRequest(count: number, outcome: VectorOutcome): readonly NamedOutcome[] {
  return Array.from({ length: count }, () => ({ name: '', outcome }));
}

function verdict(isValid: boolean): string {
  return isValid ? 'valid' : 'invalid';
}
