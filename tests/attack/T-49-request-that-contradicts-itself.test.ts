// T-49: what a policy relies on is not what the call is: an unknown tier, a name that is not the resource's, an open network.
import {
  compilePolicies,
  EVERYTHING_LISTED,
  loadPolicies,
  type PolicyRequest,
  readWrittenRequest,
} from '@palyra/policy';
import { afterAll, beforeAll, expect, test } from 'vitest';

let loaded: Awaited<ReturnType<typeof loadPolicies>>;
beforeAll(async () => {
  loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [] }));
});
afterAll(() => loaded.close());

/** A request that the types would refuse, as a fault elsewhere might make it. */
function decide(written: object, change: (request: PolicyRequest) => unknown = (request) => request) {
  const { request } = readWrittenRequest(written);
  return loaded.engine(EVERYTHING_LISTED).decide(change(request) as PolicyRequest);
}

function withFacts(facts: object) {
  return (request: PolicyRequest) => ({
    ...request,
    context: { ...request.context, facts: { ...request.context.facts, ...facts } },
  });
}

function withEnforced(enforced: object) {
  return (request: PolicyRequest) => {
    const { facts } = request.context;
    return withFacts({ enforced: { ...(facts.kind === 'call' ? facts.enforced : {}), ...enforced } })(request);
  };
}

test.each([
  ['a tier that nobody knows', withEnforced({ tier: 'D' })],
  ['an egress mode that nobody knows', withEnforced({ egress: 'Strict' })],
  ['a capability with a space', withFacts({ capabilities: ['process_exec '] })],
  ['the name of another tool', withFacts({ toolName: 'palyra.fs.read' })],
  ['a client host that is not among the hosts', withEnforced({ clientHosts: ['a.example:443'] })],
  ['an address in another spelling', withEnforced({ hosts: ['0177.0.0.1:80'] })],
  ['a port that no host has', withEnforced({ hosts: ['a.example:99999'] })],
])('%s is refused', (_what, change) => {
  expect(decide({}, change)).toMatchObject({ kind: 'deny', reasonCode: 'invalid_request' });
});

test.each([Number.NaN, 0, -1, 1.5, undefined])('%s approvers are nobody', (approvers) => {
  const change = (request: PolicyRequest) => ({
    ...request,
    context: { ...request.context, approval: { assurance: 'user_verified', approvers } },
  });
  expect(decide({}, change)).toMatchObject({ kind: 'deny', reasonCode: 'invalid_request' });
});

test('the open network is a question whatever the capabilities say', () => {
  for (const capabilities of [[], ['filesystem_write'], ['secrets_read']]) {
    expect(decide({ capabilities, enforced: { egress: 'none' } })).toMatchObject({
      kind: 'ask',
      policyIds: ['leave-the-box'],
    });
  }
});
