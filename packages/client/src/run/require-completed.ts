import { ClientError } from '../client-error.ts';
import type { CallOutcome, CompletedOutcome, ToolCallResult } from './tool-call-result.ts';

export type CompletedCall = ToolCallResult & { readonly outcome: CompletedOutcome };

/** A call that did not complete, for programs that would rather throw. */
export class ToolCallError extends ClientError {
  readonly result: ToolCallResult;

  constructor(result: ToolCallResult) {
    super('client.not_completed', sentence(result), fixOf(result));
    this.result = result;
  }
}

export function isCompleted(result: ToolCallResult): result is CompletedCall {
  return result.outcome.kind === 'completed';
}

/** Nothing of it ran: policy, a budget, the sandbox or a human said no. */
export function isRefused(result: ToolCallResult): boolean {
  return result.outcome.kind === 'refused';
}

/** Throws `ToolCallError`. */
export function requireCompleted(result: ToolCallResult): CompletedOutcome {
  if (isCompleted(result)) return result.outcome;
  throw new ToolCallError(result);
}

function sentence({ tool, outcome }: ToolCallResult): string {
  return outcome.kind === 'completed' ? '' : `${tool} ${WORDS[outcome.kind]}: ${outcome.message} (${outcome.code})`;
}

const WORDS: Readonly<Record<Exclude<CallOutcome['kind'], 'completed'>, string>> = {
  failed: 'failed',
  refused: 'was refused',
  timed_out: 'took too long',
  cancelled: 'was cancelled',
  quota_exceeded: 'used more than it may',
  unknown_outcome: 'ended in a way that is not known',
};

function fixOf({ outcome, decision }: ToolCallResult): { fix?: string } {
  const fix = outcome.kind === 'completed' ? undefined : (outcome.fix ?? decision.fix);
  return fix === undefined ? {} : { fix };
}
