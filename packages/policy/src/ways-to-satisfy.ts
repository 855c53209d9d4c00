import type { EntityUid, ExpressionJson, PolicyJson } from './cedar.ts';
import { type FactEdit, sampleFor } from './fact-edits.ts';
import { nodeOf, pathOf, plainUid } from './policy-expressions.ts';
import { type FactValue, ORDINARY_TIME } from './request-sketch.ts';

/** Steps after which a condition should hold. Only a guess: what it is worth is told by evaluating the request. */
export type Way = readonly FactEdit[];

/** More alternatives than these add time and little else. */
const MOST_WAYS = 24;

/** Ways to make the whole policy apply (`true`), or its conditions fail while the scope still fits (`false`). */
export function waysToSatisfy(policy: PolicyJson, wanted: 'applies' | 'fails'): readonly Way[] {
  const scope = both(scopeWays('principal', policy.principal), scopeWays('resource', policy.resource));
  const clauses = policy.conditions.map(({ kind, body }) => ({ body, holds: kind === 'when' }));
  if (wanted === 'applies') {
    return clauses.reduce((ways, { body, holds }) => both(ways, waysFor(body, holds)), scope);
  }
  return clauses.flatMap(({ body, holds }) => both(scope, waysFor(body, !holds))).slice(0, MOST_WAYS);
}

function scopeWays(name: 'principal' | 'resource', constraint: PolicyJson['principal']): readonly Way[] {
  switch (constraint.op) {
    case 'All':
      return ANY;
    case '==':
      return 'entity' in constraint ? [entityEdits(name, constraint.entity)] : ANY;
    case 'in':
      return 'entity' in constraint ? [memberEdits(name, constraint.entity)] : ANY;
    case 'is': {
      const inside = constraint.in !== undefined && 'entity' in constraint.in ? constraint.in.entity : undefined;
      return [[typeEdit(name, constraint.entity_type), ...(inside === undefined ? [] : memberEdits(name, inside))]];
    }
  }
}

const ANY: readonly Way[] = [[]];

function both(first: readonly Way[], second: readonly Way[]): readonly Way[] {
  return first.flatMap((left) => second.map((right) => [...left, ...right])).slice(0, MOST_WAYS);
}

function waysFor(expression: ExpressionJson, wanted: boolean): readonly Way[] {
  const { operator, operands } = nodeOf(expression);
  const sub = (name: string, isTrue: boolean) => waysFor(operands[name] as ExpressionJson, isTrue);
  switch (operator) {
    case '&&':
      return wanted ? both(sub('left', true), sub('right', true)) : either(sub('left', false), sub('right', false));
    case '||':
      return wanted ? either(sub('left', true), sub('right', true)) : both(sub('left', false), sub('right', false));
    case '!':
      return sub('arg', !wanted);
    case 'if-then-else':
      return either(both(sub('if', true), sub('then', wanted)), both(sub('if', false), sub('else', wanted)));
    case 'Value':
      return operandsValue(expression) === wanted ? ANY : [];
    case '.':
      return oneFact(expression, (fact) => [[{ kind: 'be', fact, value: wanted }]]);
    default:
      return comparisonWays(operator, operands, wanted);
  }
}

/** In turns, so that a cut leaves some of each side. */
function either(first: readonly Way[], second: readonly Way[]): readonly Way[] {
  return Array.from({ length: Math.max(first.length, second.length) }, (_, index) =>
    [first[index], second[index]].filter((way) => way !== undefined),
  )
    .flat()
    .slice(0, MOST_WAYS);
}

type Operands = Readonly<Record<string, unknown>>;

function comparisonWays(operator: string, operands: Operands, wanted: boolean): readonly Way[] {
  const { left, right, arg } = operands;
  switch (operator) {
    case '==':
      return equalWays(left, right, wanted);
    case '!=':
      return equalWays(left, right, !wanted);
    case 'contains':
    case 'containsAll':
    case 'containsAny':
      return containsWays(operator, operands, wanted);
    case 'isEmpty':
      return oneFact(arg, (fact) => [[wanted ? { kind: 'be', fact, value: [] } : hold(fact, sampleFor(fact))]]);
    case 'like':
      return oneFact(left, (fact) => likeWays(fact, operands['pattern'] as Pattern, wanted));
    case 'has':
      return hasWays(left, operands['attr'] as string | readonly string[], wanted);
    case 'in':
      return wanted ? inWays(left, right) : ANY;
    case 'is':
      return oneFact(left, (fact) => (wanted ? [[typeEdit(fact, operands['entity_type'] as string)]] : ANY));
    default:
      return mentionsTime(operands) ? timeWays(operands) : ANY;
  }
}

function equalWays(left: unknown, right: unknown, wanted: boolean): readonly Way[] {
  const [path, other] = pathOf(left) === undefined ? [right, left] : [left, right];
  return oneFact(path, (fact) => {
    const entity = entityOf(other);
    if (entity !== undefined) return [wanted ? entityEdits(fact, entity) : [otherThan(fact)]];
    const value = literal(other);
    if (value === undefined) return recordWays(fact, other, wanted);
    if (typeof value === 'boolean') return [[{ kind: 'be', fact, value: wanted ? value : !value }]];
    if (wanted) return [[{ kind: 'be', fact, value }]];
    return Array.isArray(value)
      ? [[hold(fact, sampleFor(fact))], [{ kind: 'be', fact, value: [] }]]
      : [[otherThan(fact)]];
  });
}

/** `context.enforced.upstream == {server: …, definition_sha256: …}` */
function recordWays(fact: string, expression: unknown, wanted: boolean): readonly Way[] {
  const record = (expression as { Record?: Readonly<Record<string, unknown>> } | undefined)?.Record;
  if (record === undefined) return ANY;
  if (!wanted) return [[{ kind: 'unset', fact }]];
  const edits = Object.entries(record).flatMap(([key, part]): Way => {
    const value = literal(part);
    return value === undefined ? [] : [{ kind: 'be', fact: `${fact}.${key}`, value }];
  });
  return [edits];
}

function containsWays(operator: string, { left, right }: Operands, wanted: boolean): readonly Way[] {
  const [set, member] = [pathOf(left), pathOf(right)];
  if (set !== undefined && member !== undefined) return memberWays(set, member, wanted);
  const values = [literal(set === undefined ? left : right)].flat().filter((value) => typeof value === 'string');
  if (set !== undefined) return heldWays(set, { operator, values, wanted });
  if (member === undefined) return ANY;
  return operator === 'contains'
    ? oneOfWays(member, [...values, ...entitiesOf(left)], wanted)
    : amongWays(member, { operator, values, wanted });
}

interface ValuesWanted {
  readonly operator: string;
  readonly values: readonly string[];
  readonly wanted: boolean;
}

/** `context.taints.containsAny(["web", "email"])` */
function heldWays(fact: string, { operator, values, wanted }: ValuesWanted): readonly Way[] {
  if (!wanted) return [values.map((value): FactEdit => ({ kind: 'lack', fact, value }))];
  if (operator === 'containsAny') return values.map((value) => [hold(fact, value)]);
  return [values.map((value) => hold(fact, value))];
}

/** `["A", "C"].contains(context.enforced.tier)` */
function oneOfWays(fact: string, choices: readonly (string | EntityUid)[], wanted: boolean): readonly Way[] {
  if (!wanted) return [[otherThan(fact)]];
  return choices.map((choice) =>
    typeof choice === 'string' ? [{ kind: 'be', fact, value: choice }] : entityEdits(fact, choice),
  );
}

/** `["a.example:443"].containsAll(context.enforced.hosts)` */
function amongWays(fact: string, { operator, values, wanted }: ValuesWanted): readonly Way[] {
  if (operator === 'containsAny') return heldWays(fact, { operator, values, wanted });
  if (!wanted) return [[hold(fact, sampleFor(fact))]];
  return [values.slice(0, 1), values, []].map((value): Way => [{ kind: 'be', fact, value }]);
}

/** `context.own_scopes.contains(context.scope)`: one fact is in another. */
function memberWays(set: string, member: string, wanted: boolean): readonly Way[] {
  if (!wanted) return [[{ kind: 'be', fact: set, value: [] }]];
  const value = sampleFor(member);
  return [[{ kind: 'be', fact: member, value }, hold(set, value)]];
}

type Pattern = readonly ('Wildcard' | { readonly Literal: string })[];

function likeWays(fact: string, pattern: Pattern, wanted: boolean): readonly Way[] {
  if (!wanted) return [[otherThan(fact)]];
  const filled = (filler: string) => pattern.map((part) => (part === 'Wildcard' ? filler : part.Literal)).join('');
  return ['', 'x', '1'].map((filler) => [{ kind: 'be', fact, value: filled(filler) }]);
}

function hasWays(left: unknown, attr: string | readonly string[], wanted: boolean): readonly Way[] {
  const path = pathOf(left);
  if (path === undefined) return ANY;
  const fact = [path, ...[attr].flat()].join('.');
  return wanted ? [[{ kind: 'be', fact, value: sampleFor(fact) }]] : [[{ kind: 'unset', fact }]];
}

function inWays(left: unknown, right: unknown): readonly Way[] {
  const fact = pathOf(left);
  if (fact === undefined) return ANY;
  const entities = entitiesOf(right);
  return entities.length === 0 ? ANY : entities.map((entity) => memberEdits(fact, entity));
}

function mentionsTime(operands: unknown): boolean {
  return JSON.stringify(operands).includes('"attr":"now"');
}

const HOUR = 3_600_000;

/** Around the moments that the comparison names, otherwise around the clock and on a Sunday. */
function timeWays(operands: Operands): readonly Way[] {
  const named = [...JSON.stringify(operands).matchAll(/"datetime":\[\{"Value":"([^"]+)"\}\]/g)]
    .map(([, text = '']) => Date.parse(text))
    .filter(Number.isFinite)
    .flatMap((time) => [time, time + 1, time - 1]);
  const clock = [0, 3, 6, 9, 12, 15, 18, 21].map((hours) => ORDINARY_TIME + hours * HOUR);
  const times = named.length > 0 ? named : [...clock, ORDINARY_TIME + 4 * 24 * HOUR];
  return times.map((value) => [{ kind: 'be', fact: 'context.now', value }]);
}

function oneFact(expression: unknown, ways: (fact: string) => readonly Way[]): readonly Way[] {
  const fact = expression === undefined ? undefined : pathOf(expression);
  return fact === undefined ? ANY : ways(fact);
}

function hold(fact: string, value: string): FactEdit {
  return { kind: 'hold', fact, value };
}

function otherThan(fact: string): FactEdit {
  const name = fact === 'principal' || fact === 'resource' ? `${fact}.id` : fact;
  return { kind: 'be', fact: name, value: name === 'context.now' ? ORDINARY_TIME : sampleFor(name) };
}

function operandsValue(expression: ExpressionJson): unknown {
  return (expression as { Value?: unknown }).Value;
}

/** A text, a truth value, or a set of texts; numbers are not read, because this JSON may have rounded them. */
function literal(expression: unknown): FactValue | undefined {
  const { Value: value, Set: set } = expression as { Value?: unknown; Set?: readonly unknown[] };
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.filter((part) => typeof part === 'string');
  return set?.map(literal).filter((part) => typeof part === 'string');
}

function entityOf(expression: unknown): EntityUid | undefined {
  const { __entity: uid }: { __entity?: EntityUid } = Object(Object(expression).Value);
  return uid;
}

function entitiesOf(expression: unknown): readonly EntityUid[] {
  const set = (expression as { Set?: readonly unknown[] } | undefined)?.Set ?? [expression];
  return set.map(entityOf).filter((uid) => uid !== undefined);
}

function typeEdit(name: string, type: string): FactEdit {
  return { kind: 'be', fact: `${name}.type`, value: shortType(type) };
}

function entityEdits(fact: string, given: Parameters<typeof plainUid>[0]): Way {
  const uid = plainUid(given);
  if (fact !== 'principal' && fact !== 'resource') return [{ kind: 'be', fact, value: uid.id }];
  return [typeEdit(fact, uid.type), { kind: 'be', fact: `${fact}.id`, value: uid.id }];
}

function memberEdits(fact: string, given: Parameters<typeof plainUid>[0]): Way {
  const uid = plainUid(given);
  switch (shortType(uid.type)) {
    case 'Group':
      return [hold('groups', uid.id)];
    case 'McpServer':
      return [{ kind: 'be', fact: 'context.enforced.upstream.server', value: uid.id }];
    default:
      return entityEdits(fact, uid);
  }
}

function shortType(type: string): string {
  return type.slice(type.lastIndexOf(':') + 1);
}
