import { readSchema } from './cedar.ts';
import { PolicyError } from './policy-error.ts';
import type { EntityType, PolicyRequest } from './request.ts';
import { schemaActions, uidKey } from './schema-actions.ts';

/** An action that can be asked for, and what it can be asked by and about; names without their namespace. */
export interface AskableAction {
  readonly name: string;
  /** `execute`, `read_only`, `human_only`, …, near or far. */
  readonly groups: readonly string[];
  readonly principals: readonly PolicyRequest['principal']['type'][];
  readonly resources: readonly EntityType[];
}

const NAMESPACE = 'Palyra';
const FIRST = 'tool.execute';

/** Of our own schema, calls of tools first, as most rules are about them; groups, which nobody can ask for, are left out. Throws `policy.invalid_schema`. */
export function askableActions(schema: string): readonly AskableAction[] {
  const answer = readSchema(schema);
  if (answer.kind === 'failed') {
    throw new PolicyError('policy.invalid_schema', answer.problems[0]?.message ?? 'The schema does not parse.');
  }
  const { actions = {} } = answer.json[NAMESPACE] ?? {};
  const known = schemaActions(answer.json);
  const found = Object.entries(actions).flatMap(([name, { appliesTo }]): readonly AskableAction[] => {
    if (appliesTo === undefined || appliesTo.principalTypes.length === 0) return [];
    const ancestors = known.get(uidKey({ type: `${NAMESPACE}::Action`, id: name }))?.ancestors ?? [];
    const action: AskableAction = {
      name,
      groups: [...ancestors].map((key) => key.slice(key.indexOf('"') + 1)).toSorted(),
      principals: appliesTo.principalTypes.map(shortName) as AskableAction['principals'],
      resources: appliesTo.resourceTypes.map(shortName) as AskableAction['resources'],
    };
    return [action];
  });
  return found.toSorted((a, b) => Number(b.name === FIRST) - Number(a.name === FIRST));
}

function shortName(type: string): string {
  return type.slice(type.lastIndexOf(':') + 1);
}
