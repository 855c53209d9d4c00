import type { AskableAction } from './askable-actions.ts';
import { type EntityUid, type ExpressionJson, type PolicyJson, policyToJson } from './cedar.ts';
import type { PolicyRecord } from './policy-set.ts';

/** One node of Cedar's JSON, told apart by its operator. */
export interface ExpressionNode {
  readonly operator: string;
  readonly operands: Readonly<Record<string, unknown>>;
}

/** A policy that once parsed and now does not is an empty one here: what is read from it only guides a search. */
export function readPolicy({ text }: Pick<PolicyRecord, 'text'>): PolicyJson | undefined {
  const answer = policyToJson(text);
  return answer.kind === 'parsed' ? answer.json : undefined;
}

export function nodeOf(expression: ExpressionJson): ExpressionNode {
  const [operator = '', operands = {}] = Object.entries(expression)[0] ?? [];
  return { operator, operands: operands as Readonly<Record<string, unknown>> };
}

/** `context.enforced.hosts` for a chain of attributes, `principal` for a variable, otherwise nothing. */
export function pathOf(expression: unknown): string | undefined {
  // A field of a record may have any name, an operator's too: then what stands there is no operand.
  if (typeof expression !== 'object' || expression === null) return undefined;
  const record = expression as Readonly<Record<string, unknown>>;
  if (typeof record['Var'] === 'string') return record['Var'];
  const access = record['.'] as { left: unknown; attr: string } | undefined;
  const left = access && pathOf(access.left);
  return left === undefined ? undefined : `${left}.${access?.attr}`;
}

/** Whether the scope lets the policy speak about an action. */
export function coversAction(policy: Pick<PolicyRecord, 'text'>, action: AskableAction): boolean {
  const json = readPolicy(policy);
  return json !== undefined && actionsCovered(json, [action]).length === 1;
}

export function actionsCovered({ action }: PolicyJson, actions: readonly AskableAction[]): readonly AskableAction[] {
  if (action.op === 'All') return actions;
  const uids = 'entities' in action ? action.entities : 'entity' in action ? [action.entity] : [];
  const ids = new Set(uids.map((uid) => plainUid(uid).id));
  return actions.filter(({ name, groups }) => ids.has(name) || groups.some((group) => ids.has(group)));
}

/** Cedar writes an entity in two ways. */
export function plainUid(uid: EntityUid | { readonly __entity: EntityUid }): EntityUid {
  if (!('__entity' in uid)) return uid;
  const { __entity: plain } = uid;
  return plain;
}

/** Every attribute that a policy reads, as paths, the scope's variables included; sorted. */
export function pathsReadBy(policy: Pick<PolicyRecord, 'text'>): readonly string[] {
  const json = readPolicy(policy);
  if (json === undefined) return [];
  const found = new Set<string>();
  for (const name of ['principal', 'resource', 'action'] as const) if (json[name].op !== 'All') found.add(name);
  for (const { body } of json.conditions) collectPaths(body, found);
  return [...found].toSorted();
}

/** Only the longest path of a chain counts: `context.enforced.hosts` is not also `context`. */
function collectPaths(expression: unknown, found: Set<string>): void {
  if (typeof expression !== 'object' || expression === null) return;
  const path = pathOf(expression);
  if (path !== undefined) {
    found.add(path);
    return;
  }
  const has = (expression as { has?: { left: unknown; attr: string | readonly string[] } }).has;
  const left = has && pathOf(has.left);
  if (left !== undefined && has !== undefined) {
    found.add([left, ...[has.attr].flat()].join('.'));
    return;
  }
  for (const part of Object.values(expression)) collectPaths(part, found);
}
