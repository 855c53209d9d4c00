import { readFileSync } from 'node:fs';
import * as api from '@palyra/api';
import { expect, test } from 'vitest';
import { RPC_ACTIONS, rpcName } from './rpc-actions.ts';

const METHODS = Object.values(api).flatMap((each) =>
  typeof each === 'object' && 'kind' in each && each.kind === 'service' ? each.methods : [],
);

test('every call of palyra.v1 has one action, and no other has any', () => {
  expect(METHODS.length).toBeGreaterThan(50);
  expect(Object.keys(RPC_ACTIONS).toSorted()).toEqual(METHODS.map(rpcName).toSorted());
});

test('the actions are those of the Cedar schema', () => {
  const schema = new URL('../../../../packages/policy/policies/palyra.cedarschema', import.meta.url);
  const known = new Set([...readFileSync(schema, 'utf8').matchAll(/"([a-z]+\.[a-z]+)"/g)].map(([, name]) => name));
  const asked = Object.values(RPC_ACTIONS).flatMap(({ action, tokensAlso = action }) => [action, tokensAlso]);
  expect(asked.filter((action) => !known.has(action))).toEqual([]);
});
