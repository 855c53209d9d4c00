import { create } from '@bufbuild/protobuf';
import { CallInputSchema, CallProposalSchema } from '@palyra/api';
import { expect, test } from 'vitest';
import { proposalOf, sentInputOf } from './proposal.ts';

const CALL = { key: 'k', tool: 'palyra.echo', inputJson: '{}' };
const invalid = expect.objectContaining({ code: 'daemon.invalid_request' });

test('what is said of a call is taken over, and what is not said is not there', () => {
  expect(proposalOf(create(CallProposalSchema, CALL))).toEqual({ key: 'k', tool: 'palyra.echo', input: '{}' });
  expect(proposalOf(create(CallProposalSchema, { ...CALL, agentSays: 'why', taints: ['web'] }))).toEqual({
    key: 'k',
    tool: 'palyra.echo',
    input: '{}',
    agentSays: 'why',
    taints: ['web'],
  });
});

test.each([
  ['no key', { key: '' }],
  ['a key that is too long', { key: 'k'.repeat(129) }],
  ['a key with a space', { key: 'a b' }],
  ['a key that cannot be seen', { key: 'a\u200b' }],
  ['no tool', { tool: '' }],
  ['a tool with a new line', { tool: 'palyra.echo\n' }],
  ['an endless reason', { agentSays: 'x'.repeat(4097) }],
  ['a taint that is no word', { taints: ['a b'] }],
  ['taints without end', { taints: Array.from({ length: 65 }, () => 'web') }],
])('%s is refused', (_what, change) => {
  expect(() => proposalOf(create(CallProposalSchema, { ...CALL, ...change }))).toThrow(invalid);
});

test('nothing at all is refused', () => {
  expect(() => proposalOf(undefined)).toThrow(invalid);
  expect(() => sentInputOf(undefined)).toThrow(invalid);
  expect(() => sentInputOf(create(CallInputSchema, { key: 'k' }))).toThrow(invalid);
});
