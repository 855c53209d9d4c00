import type { PolicyRecord } from './policy-set.ts';

/** What differs between two sets by id. Two texts of one id may still mean the same. */
export interface PolicyChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly edited: readonly string[];
}

/** One policy that differs; a side is absent when the policy is not there. */
export interface ChangedPolicy {
  readonly id: string;
  readonly before?: PolicyRecord;
  readonly after?: PolicyRecord;
}

/** Sorted by id, so that the same two sets are always searched in the same order. */
export function changedPolicies(
  before: readonly PolicyRecord[],
  after: readonly PolicyRecord[],
): readonly ChangedPolicy[] {
  const old = new Map(before.map((policy) => [policy.id, policy]));
  const young = new Map(after.map((policy) => [policy.id, policy]));
  return [...new Set([...old.keys(), ...young.keys()])]
    .toSorted()
    .filter((id) => old.get(id)?.text !== young.get(id)?.text)
    .map((id) => ({ id, ...side('before', old.get(id)), ...side('after', young.get(id)) }));
}

export function summarizeChanges(changed: readonly ChangedPolicy[]): PolicyChanges {
  const ids = (isWanted: (policy: ChangedPolicy) => boolean) => changed.filter(isWanted).map(({ id }) => id);
  return {
    added: ids(({ before }) => before === undefined),
    removed: ids(({ after }) => after === undefined),
    edited: ids(({ before, after }) => before !== undefined && after !== undefined),
  };
}

function side<Key extends string>(
  key: Key,
  policy: PolicyRecord | undefined,
): { readonly [key in Key]?: PolicyRecord } {
  return policy === undefined ? {} : ({ [key]: policy } as { readonly [key in Key]?: PolicyRecord });
}
