import type { CedarRecord } from './cedar.ts';
import { entityKey } from './entity-key.ts';
import type { ContextTest } from './necessary-tests.ts';

/** Policies by the test that they need, so that a request finds those it may fulfil without asking each. */
export interface ContextTables {
  /** A policy may stand under several tests: it is found when any of them may hold. */
  add(tests: readonly ContextTest[], policy: number): void;
  /** Every policy of which a test may hold. */
  find(context: CedarRecord, found: Set<number>): void;
}

export function createContextTables(): ContextTables {
  const tables = new Map<string, Table>();
  return {
    add(tests, policy) {
      for (const { kind, path, value } of tests) {
        const name = JSON.stringify([kind === 'holds', path]);
        const table = tables.get(name) ?? { isSet: kind === 'holds', path, policies: new Map() };
        tables.set(name, table);
        const policies = table.policies.get(value);
        if (policies === undefined) table.policies.set(value, [policy]);
        else policies.push(policy);
      }
    },
    find(context, found) {
      for (const { isSet, path, policies } of tables.values()) {
        const value = valueAt(context, path);
        if (value === undefined) continue;
        const values: readonly unknown[] = isSet && Array.isArray(value) ? value : [value];
        for (const one of values) addMatches(one, policies, found);
      }
    },
  };
}

interface Table {
  readonly isSet: boolean;
  readonly path: readonly string[];
  readonly policies: Map<string | boolean, number[]>;
}

function addMatches(value: unknown, policies: Table['policies'], found: Set<number>): void {
  const key = typeof value === 'string' || typeof value === 'boolean' ? value : entityKey(value);
  if (key !== undefined) {
    for (const policy of policies.get(key) ?? []) found.add(policy);
    return;
  }
  // Not what the schema promises: Cedar will refuse the request, and until it has, nothing is left out.
  for (const all of policies.values()) for (const policy of all) found.add(policy);
}

/** Own properties only, as Cedar is told them. Undefined when a step of the path is missing. */
function valueAt(context: CedarRecord, path: readonly string[]): unknown {
  let value: unknown = context;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as CedarRecord)[step];
  }
  return value;
}
