import { type UidKey, uidKey } from './schema-actions.ts';

/** The key of an entity written as a value, in a policy or in a context; undefined when it is written in any other way. */
export function entityKey(value: unknown): UidKey | undefined {
  const uid = onlyMember(value, '__entity');
  if (typeof uid !== 'object' || uid === null || Object.keys(uid).length !== 2) return undefined;
  const { type, id } = uid as { readonly type?: unknown; readonly id?: unknown };
  return typeof type === 'string' && typeof id === 'string' ? uidKey({ type, id }) : undefined;
}

/** SECURITY: T-09 — Cedar reads several spellings of an entity: only the one that leaves no doubt is relied on. */
function onlyMember(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.keys(value).length === 1 && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
