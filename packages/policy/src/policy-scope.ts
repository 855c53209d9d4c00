import type { EvaluationRequest, PolicyJson } from './cedar.ts';
import { ancestorsOf, type SchemaAction, type UidKey, uidKey } from './schema-actions.ts';

/** What a policy's scope asks of its principal or its resource. */
export type ScopeTest =
  | { readonly kind: 'any' }
  | { readonly kind: 'is'; readonly type: string }
  | { readonly kind: 'equals'; readonly key: UidKey }
  /** `type` is undefined for a plain `in`. */
  | { readonly kind: 'in'; readonly key: UidKey; readonly type: string | undefined };

/** What a scope can ask about one entity of a request. */
export interface EntityFacts {
  readonly key: UidKey;
  readonly type: string;
  /** The entity itself and everything it is in. */
  readonly groups: ReadonlySet<UidKey>;
}

export interface RequestFacts {
  readonly principal: EntityFacts;
  readonly resource: EntityFacts;
}

/** Undefined for the slot of a template. */
export function scopeTest(constraint: PolicyJson['principal'] | PolicyJson['resource']): ScopeTest | undefined {
  switch (constraint.op) {
    case 'All':
      return { kind: 'any' };
    case '==':
      return 'entity' in constraint ? { kind: 'equals', key: keyOf(constraint.entity) } : undefined;
    case 'in':
      return 'entity' in constraint ? { kind: 'in', key: keyOf(constraint.entity), type: undefined } : undefined;
    case 'is': {
      const { entity_type: type, in: group } = constraint;
      if (group === undefined) return { kind: 'is', type };
      return 'entity' in group ? { kind: 'in', key: keyOf(group.entity), type } : undefined;
    }
  }
}

/**
 * Exactly what Cedar answers for this part of the scope. It never raises an error there: `in` is false for an entity
 * that was not passed, unless it is the group itself.
 */
export function scopeHolds(test: ScopeTest, entity: EntityFacts): boolean {
  switch (test.kind) {
    case 'any':
      return true;
    case 'is':
      return test.type === entity.type;
    case 'equals':
      return test.key === entity.key;
    case 'in':
      return (test.type === undefined || test.type === entity.type) && entity.groups.has(test.key);
  }
}

/** The action scope, answered with the action's groups in the schema. */
export function actionHolds(constraint: PolicyJson['action'], action: SchemaAction): boolean {
  if (constraint.op === 'All') return true;
  if (constraint.op === '==') return 'entity' in constraint && keyOf(constraint.entity) === action.key;
  const groups = 'entities' in constraint ? constraint.entities : [constraint.entity];
  return groups.some((group) => {
    const key = keyOf(group);
    return key === action.key || action.ancestors.has(key);
  });
}

/**
 * Parents as passed, and those that the schema gives to actions, which Cedar adds by itself. Throws a `TypeError` for
 * an entity that is not named by exactly its type and its id.
 */
export function requestFacts(request: EvaluationRequest, actions: ReadonlyMap<UidKey, SchemaAction>): RequestFacts {
  const parents = new Map<UidKey, readonly UidKey[]>();
  for (const { uid, parents: above } of request.entities) parents.set(plainUidKey(uid), above.map(plainUidKey));
  const factsOf = (uid: EvaluationRequest['principal']): EntityFacts => {
    const key = plainUidKey(uid);
    const passed = [key, ...ancestorsOf(key, parents)];
    const groups = new Set(passed);
    for (const group of passed) {
      for (const ancestor of actions.get(group)?.ancestors ?? []) groups.add(ancestor);
    }
    return { key, type: uid.type, groups };
  };
  return { principal: factsOf(request.principal), resource: factsOf(request.resource) };
}

/** SECURITY: T-09 — Cedar also reads `__entity`, before type and id: what we take for one entity it would for another. */
export function plainUidKey(uid: EvaluationRequest['principal']): UidKey {
  const { type, id } = uid;
  if (typeof type === 'string' && typeof id === 'string' && Object.keys(uid).length === 2) return uidKey(uid);
  throw new TypeError('an entity is not named by a type and an id alone');
}

type EntityJson = Extract<PolicyJson['principal'], { op: 'in'; entity: unknown }>['entity'];

function keyOf(entity: EntityJson): UidKey {
  return uidKey('__entity' in entity ? entity['__entity'] : entity);
}
