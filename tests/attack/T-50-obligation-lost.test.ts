// T-50: an obligation is lost because it stood on the policy that caused the question, not on the one that permits.
import { compilePolicies, EVERYTHING_LISTED, loadPolicies, readWrittenRequest } from '@palyra/policy';
import { expect, test } from 'vitest';

/** The forbid asks; a permit of ours answers once a human approved. The demands stand on the forbid alone. */
const POLICY = `
@id("two-people-for-deploys")
@approvers("2")
@assurance("user_verified")
@approval_ttl("10m")
@offer("once")
forbid (principal, action == Palyra::Action::"tool.execute", resource)
when { context.declared.command_line like "*deploy*" && !context.approved };
`;

async function decide(facts: object) {
  const file = { name: 'policies/deploy.cedar', text: POLICY, origin: { kind: 'operator' } } as const;
  const loaded = await loadPolicies(compilePolicies({ preset: 'coding', files: [file] }));
  const { request } = readWrittenRequest({ declared: { executable: 'deploy', arguments: ['prod'] }, ...facts });
  const decision = loaded.engine(EVERYTHING_LISTED).decide(request);
  loaded.close();
  return decision;
}

test('the demands of the policy that caused the question come with the question', async () => {
  expect(await decide({})).toMatchObject({
    kind: 'ask',
    policyIds: ['in-the-box', 'two-people-for-deploys'],
    obligations: { approvers: 2, assurance: 'user_verified', approvalTtlMs: 600_000, offer: 'once' },
  });
});

test.each([
  ['one person is not two', { assurance: 'user_verified', approvers: 1 }, 'approval_insufficient'],
  [
    'a key on the same host is not a verified person',
    { assurance: 'same_host_key', approvers: 2 },
    'approval_insufficient',
  ],
])('the demands still hold when the answer is there: %s', async (_why, approval, reasonCode) => {
  expect(await decide({ approval })).toMatchObject({ kind: 'deny', reasonCode });
});

test('two verified people are enough', async () => {
  expect(await decide({ approval: { assurance: 'user_verified', approvers: 2 } })).toMatchObject({ kind: 'allow' });
});
