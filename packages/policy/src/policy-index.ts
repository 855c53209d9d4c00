import type { EvaluationRequest, PolicyJson } from './cedar.ts';
import { type ContextTables, createContextTables } from './context-tables.ts';
import { type ContextTest, necessaryTests } from './necessary-tests.ts';
import { actionHolds, type RequestFacts, requestFacts, type ScopeTest, scopeHolds, scopeTest } from './policy-scope.ts';
import type { ContextShape, SchemaAction, UidKey } from './schema-actions.ts';

/** Which policies one request must be evaluated against; policies are numbers, their places in the given list. */
export interface Candidates {
  /** Those that every request of the action meets. The same array for the same action. */
  readonly always: readonly number[];
  /** Those that this request meets besides, in order. */
  readonly selected: readonly number[];
}

export interface PolicyIndex {
  /** For an action that the schema declares; of any other every policy is a candidate. */
  candidates(request: EvaluationRequest, action: SchemaAction): Candidates;
  /** Looks at the policies of an action one by one, so that others get a turn between them; the rest is quick then. */
  study(action: SchemaAction): Iterator<void>;
  /** Prepares what `candidates` needs for an action, and tells those that are always met. */
  alwaysMet(action: SchemaAction): readonly number[];
}

export interface PolicyIndexOptions {
  readonly policies: readonly PolicyJson[];
  readonly actions: ReadonlyMap<UidKey, SchemaAction>;
  /** Only when the set is strictly valid and every request will be validated: see `necessaryTests`. */
  readonly byContext: boolean;
}

/**
 * Leaves out the policies that a request cannot meet.
 *
 * SECURITY: T-09 — a policy is left out only when its scope is false, which never raises an error, or its conditions
 * are false without raising one (`necessaryTests`). Such a policy is neither a reason nor an error, so the answer
 * without it is the same answer. Every doubt keeps the policy.
 */
export function createPolicyIndex({ policies, actions, byContext }: PolicyIndexOptions): PolicyIndex {
  const scoped = policies.map(scopeOf);
  const testsOf = createTests(policies);
  const tables = new Map<UidKey, ActionTables>();

  const tablesOf = (action: SchemaAction): ActionTables => {
    const known = tables.get(action.key);
    if (known !== undefined) return known;
    const made = newTables();
    for (const [number, policy] of policies.entries()) {
      if (!actionHolds(policy.action, action)) continue;
      const tests = byContext && action.context !== undefined ? testsOf(number, action.context) : undefined;
      file(number, made, { ...(scoped[number] ?? ANY_SCOPE), tests, isUnscoped: policy.action.op === 'All' });
    }
    made.always = [...made.everywhere, ...made.here];
    tables.set(action.key, made);
    return made;
  };

  return {
    *study(action) {
      if (!byContext || action.context === undefined) return;
      for (const [number, policy] of policies.entries()) {
        if (actionHolds(policy.action, action)) testsOf(number, action.context);
        yield;
      }
    },
    alwaysMet: (action) => tablesOf(action).always,
    candidates(request, action) {
      const found = tablesOf(action);
      const facts = requestFacts(request, actions);
      const hits = lookUp(found, facts, request);
      const selected: number[] = [];
      for (const number of hits) {
        const scope = scoped[number] ?? ANY_SCOPE;
        if (scopeHolds(scope.principal, facts.principal) && scopeHolds(scope.resource, facts.resource)) {
          selected.push(number);
        }
      }
      return { always: found.always, selected: selected.toSorted((left, right) => left - right) };
    },
  };
}

interface Scope {
  readonly principal: ScopeTest;
  readonly resource: ScopeTest;
}

interface Filing extends Scope {
  readonly tests: readonly ContextTest[] | undefined;
  readonly isUnscoped: boolean;
}

/** The policies of one action, each filed once, under what tells the most requests apart. */
interface ActionTables {
  readonly byResource: Map<string, number[]>;
  readonly byPrincipal: Map<string, number[]>;
  readonly byResourceGroup: Map<string, number[]>;
  readonly byPrincipalGroup: Map<string, number[]>;
  readonly byResourceType: Map<string, number[]>;
  readonly byPrincipalType: Map<string, number[]>;
  readonly byContext: ContextTables;
  /** Policies for any action, apart, so that most actions begin with the same ones. */
  readonly everywhere: number[];
  readonly here: number[];
  always: readonly number[];
}

const ANY_SCOPE: Scope = { principal: { kind: 'any' }, resource: { kind: 'any' } };

function newTables(): ActionTables {
  return {
    byResource: new Map(),
    byPrincipal: new Map(),
    byResourceGroup: new Map(),
    byPrincipalGroup: new Map(),
    byResourceType: new Map(),
    byPrincipalType: new Map(),
    byContext: createContextTables(),
    everywhere: [],
    here: [],
    always: [],
  };
}

/** A scope that cannot be read asks for nothing, so that the policy stays a candidate. */
function scopeOf({ principal, resource }: PolicyJson): Scope {
  return { principal: scopeTest(principal) ?? { kind: 'any' }, resource: scopeTest(resource) ?? { kind: 'any' } };
}

/** Actions that share a context share the findings. */
function createTests(
  policies: readonly PolicyJson[],
): (number: number, context: ContextShape) => readonly ContextTest[] | undefined {
  const known = new Map<ContextShape, Map<number, readonly ContextTest[] | undefined>>();
  return (number, context) => {
    const found = known.get(context) ?? new Map<number, readonly ContextTest[] | undefined>();
    known.set(context, found);
    if (!found.has(number)) found.set(number, necessaryTests(policies[number]?.conditions ?? [], context));
    return found.get(number);
  };
}

function file(number: number, tables: ActionTables, { principal, resource, tests, isUnscoped }: Filing): void {
  if (resource.kind === 'equals') add(tables.byResource, resource.key, number);
  else if (principal.kind === 'equals') add(tables.byPrincipal, principal.key, number);
  else if (tests?.every(({ kind }) => kind !== 'flag')) tables.byContext.add(tests, number);
  else if (resource.kind === 'in') add(tables.byResourceGroup, resource.key, number);
  else if (principal.kind === 'in') add(tables.byPrincipalGroup, principal.key, number);
  else if (tests !== undefined) tables.byContext.add(tests, number);
  else if (resource.kind === 'is') add(tables.byResourceType, resource.type, number);
  else if (principal.kind === 'is') add(tables.byPrincipalType, principal.type, number);
  else (isUnscoped ? tables.everywhere : tables.here).push(number);
}

function add(table: Map<string, number[]>, key: string, number: number): void {
  const numbers = table.get(key);
  if (numbers === undefined) table.set(key, [number]);
  else numbers.push(number);
}

function lookUp(tables: ActionTables, facts: RequestFacts, request: EvaluationRequest): ReadonlySet<number> {
  const { principal, resource } = facts;
  const hits = new Set<number>();
  const take = (table: Map<string, number[]>, keys: Iterable<string>) => {
    if (table.size === 0) return;
    for (const key of keys) for (const number of table.get(key) ?? []) hits.add(number);
  };
  take(tables.byResource, [resource.key]);
  take(tables.byPrincipal, [principal.key]);
  take(tables.byResourceGroup, resource.groups);
  take(tables.byPrincipalGroup, principal.groups);
  take(tables.byResourceType, [resource.type]);
  take(tables.byPrincipalType, [principal.type]);
  tables.byContext.find(request.context, hits);
  return hits;
}
