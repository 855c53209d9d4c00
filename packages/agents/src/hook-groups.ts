import { canonicalJson, type JsonObject, type JsonValue } from '@palyra/primitives';
import { objectAt, unknownFormat, withMember } from './json-settings.ts';
import { isObject } from './read-fields.ts';

/** By this word our own entries are known. */
const OURS = 'palyra-hook';

export interface HookGroups {
  /** Our entry for each event. */
  readonly entries: Readonly<Record<string, JsonObject>>;
}

/**
 * Into `hooks`, behind what is there. An entry of ours that is there already gives way to this one, unless it is the same;
 * nothing else is touched, and no rule that allows anything is ever added. Throws `agents.unknown_format`.
 */
export function addHooks(document: JsonObject, { entries }: HookGroups): JsonObject {
  const hooks = objectAt(document, 'hooks');
  const ours = Object.entries(entries).map(([event, entry]) => {
    const there = entriesOf(hooks, event);
    const own = there.filter(isOurs);
    // Behind it, or in its group, others may have put theirs since: it stays where it is.
    if (own.length === 1 && own.every((each) => isTheSame(each, entry))) return [event, there] as const;
    const others = there.filter((each) => !isOurs(each));
    return [event, [...others, entry]] as const;
  });
  const changed: JsonObject = { ...hooks, ...Object.fromEntries(ours) };
  return withMember(document, 'hooks', changed);
}

export function removeHooks(document: JsonObject): JsonObject {
  const hooks = objectAt(document, 'hooks');
  const left: JsonObject = Object.fromEntries(
    Object.entries(hooks).flatMap(([event, value]): readonly (readonly [string, JsonValue])[] => {
      if (!Array.isArray(value)) return [[event, value]];
      const others = (value as readonly JsonValue[]).filter((each) => !isOurs(each));
      return others.length === 0 && value.length > 0 ? [] : [[event, others]];
    }),
  );
  return withMember(document, 'hooks', left);
}

function entriesOf(hooks: JsonObject, event: string): readonly JsonObject[] {
  const value = hooks[event];
  if (value === undefined) return [];
  if (Array.isArray(value) && value.every(isObject)) return value;
  throw unknownFormat(`hooks.${event} is not a list of hooks as they are known here.`);
}

/** But for what others have in its group. */
function isTheSame(there: JsonObject, entry: JsonObject): boolean {
  const { hooks } = there;
  const own = Array.isArray(hooks) ? { ...there, hooks: (hooks as readonly JsonValue[]).filter(isOurs) } : there;
  return canonicalJson(own) === canonicalJson(entry);
}

function isOurs(entry: JsonValue): boolean {
  return JSON.stringify(entry).includes(OURS);
}
