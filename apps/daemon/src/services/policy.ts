import type { ServiceImpl } from '@connectrpc/connect';
import type { PolicyService } from '@palyra/api';
import { type ActivePolicies, diffOffLoop, EVERYTHING_LISTED, explainOffLoop } from '@palyra/policy';
import { type Clock, parseJson } from '@palyra/primitives';
import { peerOf } from '../interceptors/peer-context.ts';
import { invalid } from '../wire/proposal.ts';
import { requireHuman } from './human-peer.ts';

export interface PolicyServiceDeps {
  readonly policies: ActivePolicies;
  /** Absolute: `$PALYRA_HOME/policies`. */
  readonly policyDirectory: string;
  readonly clock: Clock;
}

/** The part of the service that is about all policies. */
export type PolicyFiles = Pick<
  ServiceImpl<typeof PolicyService>,
  'getPolicies' | 'diffPolicies' | 'applyPolicies' | 'explainRequest'
>;

export function createPolicyFiles(deps: PolicyServiceDeps): PolicyFiles {
  const { policies, policyDirectory, clock } = deps;
  const inTurn = createTurn();
  return {
    async getPolicies() {
      const { digest, preset, policies: all } = policies.current();
      return {
        policySetSha256: digest,
        preset,
        hasPendingEdits: await policies.pending(),
        policies: all.map(({ id, file, text }) => ({ policyId: id, file, text })),
      };
    },
    async diffPolicies() {
      const { preset } = policies.current();
      const source = { active: policies.compiled(), directory: policyDirectory, preset, config: EVERYTHING_LISTED };
      return { diffJson: JSON.stringify(await inTurn(() => diffOffLoop(source, clock))) };
    },
    async applyPolicies(_request, context) {
      requireHuman(peerOf(context));
      const { digest: before } = policies.current();
      if (!(await policies.pending())) return { policySetSha256: before, previousSha256: before, changed: false };
      const { digest, previousDigest = before } = await policies.apply();
      return { policySetSha256: digest, previousSha256: previousDigest, changed: true };
    },
    async explainRequest({ requestJson }) {
      const written = writtenIn(requestJson);
      const explanation = await inTurn(() => explainOffLoop({ active: policies.compiled(), written }, clock));
      return { explanationJson: JSON.stringify(explanation) };
    },
  };
}

/** SECURITY: T-57 — a repeated key would be explained as one request and decided as another. */
function writtenIn(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw invalid('The request is not JSON.', 'Begin with {} and add what is special about it.');
  }
}

/** SECURITY: T-39 — each of them is a thread and seconds of work: one at a time, however many ask. */
function createTurn(): <Answer>(ask: () => Promise<Answer>) => Promise<Answer> {
  let last: Promise<unknown> = Promise.resolve();
  return (ask) => {
    const turn = last.then(ask);
    last = turn.catch(() => undefined);
    return turn;
  };
}
