import type { EntityUid, SchemaJson, SchemaTypeJson } from './cedar.ts';

/** One action as the schema declares it. */
export interface SchemaAction {
  readonly key: UidKey;
  /** Every group it is in, near or far. */
  readonly ancestors: ReadonlySet<UidKey>;
  /** Undefined when the schema does not say enough: then nothing is known about the context. */
  readonly context: ContextShape | undefined;
}

/** What one value of a validated context is known to be. Actions with the same context type share one object. */
export type ContextShape =
  | { readonly kind: 'string' | 'boolean' | 'long' | 'string_set' | 'entity' | 'other' }
  | { readonly kind: 'record'; readonly attributes: ReadonlyMap<string, AttributeShape> };

export interface AttributeShape {
  readonly shape: ContextShape;
  readonly isRequired: boolean;
}

/** An entity as one text. A type holds no quotation mark, so two entities never share a key. */
export type UidKey = string & { readonly __brand: 'UidKey' };

export function uidKey({ type, id }: EntityUid): UidKey {
  return `${type}"${id}` as UidKey;
}

/** The actions of a schema whose names Cedar has resolved. */
export function schemaActions(schema: SchemaJson): ReadonlyMap<UidKey, SchemaAction> {
  const parents = new Map<UidKey, readonly UidKey[]>();
  for (const [namespace, { actions }] of Object.entries(schema)) {
    for (const [id, { memberOf }] of Object.entries(actions)) {
      const type = actionType(namespace);
      const groups = (memberOf ?? []).map((group) => uidKey({ type: group.type ?? type, id: group.id }));
      parents.set(uidKey({ type, id }), groups);
    }
  }
  const shapeOf = createShapes(schema);
  const found = new Map<UidKey, SchemaAction>();
  for (const [namespace, { actions }] of Object.entries(schema)) {
    for (const [id, { appliesTo }] of Object.entries(actions)) {
      const key = uidKey({ type: actionType(namespace), id });
      const context = appliesTo?.context === undefined ? NO_CONTEXT : shapeOf(appliesTo.context);
      found.set(key, { key, ancestors: ancestorsOf(key, parents), context: recordOnly(context) });
    }
  }
  return found;
}

/** Everything above an entity. Cedar refuses cycles; here they only must not hang. */
export function ancestorsOf(key: UidKey, parents: ReadonlyMap<UidKey, readonly UidKey[]>): ReadonlySet<UidKey> {
  const ancestors = new Set<UidKey>();
  const open = [...(parents.get(key) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (ancestors.has(next)) continue;
    ancestors.add(next);
    open.push(...(parents.get(next) ?? []));
  }
  return ancestors;
}

const NO_CONTEXT: ContextShape = { kind: 'record', attributes: new Map() };
const OTHER: ContextShape = { kind: 'other' };
const ENTITY: ContextShape = { kind: 'entity' };
const PRIMITIVES: ReadonlyMap<string, ContextShape> = new Map([
  ['String', { kind: 'string' }],
  ['__cedar::String', { kind: 'string' }],
  ['Bool', { kind: 'boolean' }],
  ['Boolean', { kind: 'boolean' }],
  ['__cedar::Bool', { kind: 'boolean' }],
  ['Long', { kind: 'long' }],
  ['__cedar::Long', { kind: 'long' }],
]);

function actionType(namespace: string): string {
  return namespace === '' ? 'Action' : `${namespace}::Action`;
}

function recordOnly(shape: ContextShape): ContextShape | undefined {
  return shape.kind === 'record' ? shape : undefined;
}

/** What is not understood is `other`, about which nothing is concluded. */
function createShapes(schema: SchemaJson): (type: SchemaTypeJson) => ContextShape {
  const common = new Map<string, SchemaTypeJson>();
  for (const [namespace, { commonTypes }] of Object.entries(schema)) {
    for (const [name, type] of Object.entries(commonTypes ?? {})) {
      common.set(namespace === '' ? name : `${namespace}::${name}`, type);
    }
  }
  const known = new Map(PRIMITIVES);
  const named = (name: string): ContextShape => {
    const shape = known.get(name);
    if (shape !== undefined) return shape;
    const type = common.get(name);
    // Cedar refuses common types that contain themselves; until one is finished it counts as not understood.
    known.set(name, OTHER);
    if (type !== undefined) known.set(name, shapeOf(type));
    return known.get(name) ?? OTHER;
  };
  const shapeOf = (type: SchemaTypeJson): ContextShape => {
    if (type.type === 'Set' && 'element' in type) {
      return shapeOf(type.element).kind === 'string' ? { kind: 'string_set' } : OTHER;
    }
    if (type.type === 'Record' && 'attributes' in type) return recordShape(type, shapeOf);
    if (type.type === 'Entity') return ENTITY;
    return type.type === 'Extension' ? OTHER : named(type.type);
  };
  return shapeOf;
}

function recordShape(
  type: Extract<SchemaTypeJson, { attributes: unknown }>,
  shapeOf: (type: SchemaTypeJson) => ContextShape,
): ContextShape {
  // An open record may hold what it does not declare.
  if (type.additionalAttributes === true) return OTHER;
  const attributes = new Map<string, AttributeShape>();
  for (const [name, attribute] of Object.entries(type.attributes)) {
    attributes.set(name, { shape: shapeOf(attribute), isRequired: attribute.required !== false });
  }
  return { kind: 'record', attributes };
}
