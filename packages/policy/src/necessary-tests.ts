import type { ExpressionJson, OperatorJson, PolicyJson } from './cedar.ts';
import { entityKey } from './entity-key.ts';
import type { ContextShape } from './schema-actions.ts';

/** A cheap question about a context: is this text or entity there, is this text in that set, is that flag so? */
export type ContextTest =
  | { readonly kind: 'equals'; readonly path: readonly string[]; readonly value: string }
  | { readonly kind: 'holds'; readonly path: readonly string[]; readonly value: string }
  | { readonly kind: 'flag'; readonly path: readonly string[]; readonly value: boolean };

/**
 * Tests of which one must hold, or else the policy's conditions are false *without having raised an error*.
 * Undefined when nothing of the kind is certain; then the policy must be evaluated.
 *
 * SECURITY: T-09 — leaving out a `forbid` that would have held opens what it closes. The argument, for a policy
 * that is strictly valid and a request that Cedar validated against the same schema:
 * 1. Cedar joins the conditions with `&&` in the order they are written (`unless` negated) and evaluates from left
 *    to right, stopping at the first false one. What stands behind it is not evaluated and raises nothing.
 * 2. A path through records of the context, every step of it required by the schema or asked for with `has` further
 *    left, can be read without error, and has the type that the schema gives it.
 * 3. So comparing such a path, or looking into such a set of texts, cannot fail; its answer is known from the JSON.
 * 4. For `a && b`: when no test of `a` holds, `a` is false without error and `b` is not evaluated. When `a` cannot
 *    raise an error, whatever it is, the tests of `b` do as well. For `a || b` both must be excluded.
 * Whatever is not listed below may raise an error and is not looked behind: attributes and tags of entities (the
 * entity may be missing), arithmetic (may overflow), extension functions, `if`.
 */
export function necessaryTests(
  conditions: PolicyJson['conditions'],
  context: ContextShape,
): readonly ContextTest[] | undefined {
  let joined: Finding = { tests: undefined, isSafe: true, proves: [] };
  for (const { kind, body } of conditions) {
    const next: ExpressionJson = kind === 'when' ? body : { '!': { arg: body } };
    joined = both(joined, find(next, { context, present: new Set(joined.proves) }));
  }
  return joined.tests;
}

interface Scene {
  readonly context: ContextShape;
  /** Paths that are there, or else the expression is not reached. */
  readonly present: ReadonlySet<string>;
}

interface Finding {
  readonly tests: readonly ContextTest[] | undefined;
  /** Evaluating it never raises an error. */
  readonly isSafe: boolean;
  /** Paths that are there when it is true. */
  readonly proves: readonly string[];
}

const UNKNOWN: Finding = { tests: undefined, isSafe: false, proves: [] };
const SAFE: Finding = { tests: undefined, isSafe: true, proves: [] };

/** Calls of extension functions have none of the keys asked for here. */
function find(anyExpression: ExpressionJson, scene: Scene): Finding {
  const expression = anyExpression as OperatorJson;
  if ('&&' in expression) return conjunction(expression['&&'], scene);
  if ('||' in expression) return disjunction(expression['||'], scene);
  if ('!' in expression) return negation(expression['!'].arg, scene);
  if ('.' in expression) return flag(expression, true, scene);
  if ('==' in expression) return equality(expression['=='], scene);
  if ('contains' in expression) return containment('contains', expression.contains, scene);
  if ('containsAny' in expression) return containment('containsAny', expression.containsAny, scene);
  if ('containsAll' in expression) return containment('containsAll', expression.containsAll, scene);
  if ('has' in expression) return presence(expression.has, scene);
  return isSafe(expression, scene) ? SAFE : UNKNOWN;
}

/** Of the rest, what never raises an error. */
function isSafe(expression: OperatorJson, scene: Scene): boolean {
  const order = orderOf(expression);
  if (order !== undefined) return isLong(order.left, scene) && isLong(order.right, scene);
  if ('!=' in expression) return isReadable(expression['!='].left, scene) && isReadable(expression['!='].right, scene);
  if ('like' in expression) return pathOf(expression.like.left, scene)?.shape.kind === 'string';
  if ('in' in expression) return isEntityVariable(expression.in.left) && isConstantOrSet(expression.in.right);
  if ('is' in expression) {
    const { left, in: group } = expression.is;
    return isEntityVariable(left) && (group === undefined || isConstant(group));
  }
  return typeof constant(expression) === 'boolean';
}

function orderOf(expression: OperatorJson): Pair | undefined {
  if ('<' in expression) return expression['<'];
  if ('<=' in expression) return expression['<='];
  if ('>' in expression) return expression['>'];
  return '>=' in expression ? expression['>='] : undefined;
}

function conjunction({ left, right }: Pair, { context, present }: Scene): Finding {
  const first = find(left, { context, present });
  return both(first, find(right, { context, present: new Set([...present, ...first.proves]) }));
}

function both(first: Finding, second: Finding): Finding {
  const behind = first.isSafe ? second.tests : undefined;
  return {
    tests: moreSelective(first.tests, behind),
    isSafe: first.isSafe && second.isSafe,
    proves: [...first.proves, ...second.proves],
  };
}

function disjunction({ left, right }: Pair, scene: Scene): Finding {
  const first = find(left, scene);
  const second = find(right, scene);
  const tests = first.tests && second.tests && [...first.tests, ...second.tests];
  return { tests, isSafe: first.isSafe && second.isSafe, proves: [] };
}

function negation(arg: ExpressionJson, scene: Scene): Finding {
  if ('.' in arg) return flag(arg, false, scene);
  return find(arg, scene).isSafe ? SAFE : UNKNOWN;
}

function flag(expression: ExpressionJson, value: boolean, scene: Scene): Finding {
  const path = pathOf(expression, scene);
  if (path?.shape.kind !== 'boolean') return UNKNOWN;
  return { ...SAFE, tests: [{ kind: 'flag', path: path.steps, value }] };
}

function equality({ left, right }: Pair, scene: Scene): Finding {
  const path = pathOf(left, scene) ?? pathOf(right, scene);
  const value = constant(left) ?? constant(right);
  if (path?.shape.kind === 'string' && typeof value === 'string') {
    return { ...SAFE, tests: [{ kind: 'equals', path: path.steps, value }] };
  }
  const entity = path?.shape.kind === 'entity' ? entityKey(value) : undefined;
  if (path !== undefined && entity !== undefined) {
    return { ...SAFE, tests: [{ kind: 'equals', path: path.steps, value: entity }] };
  }
  if (path?.shape.kind === 'boolean' && typeof value === 'boolean') {
    return { ...SAFE, tests: [{ kind: 'flag', path: path.steps, value }] };
  }
  return isReadable(left, scene) && isReadable(right, scene) ? SAFE : UNKNOWN;
}

type Containment = 'contains' | 'containsAny' | 'containsAll';

function containment(operator: Containment, { left, right }: Pair, scene: Scene): Finding {
  const set = pathOf(left, scene);
  if (set?.shape.kind === 'string_set') {
    const values = operator === 'contains' ? textsOf([right]) : textsOf(elementsOf(right));
    if (values === undefined || values.length === 0) return UNKNOWN;
    // All of them must be in the set: asking for one of them is enough.
    const asked = operator === 'containsAll' ? values.slice(0, 1) : values;
    return { ...SAFE, tests: asked.map((value) => ({ kind: 'holds', path: set.steps, value })) };
  }
  const listed = textsOf(elementsOf(left));
  const text = pathOf(right, scene);
  if (operator !== 'contains' || listed === undefined || text?.shape.kind !== 'string') return UNKNOWN;
  return { ...SAFE, tests: listed.map((value) => ({ kind: 'equals', path: text.steps, value })) };
}

/** `context.a has b.c` asks for `b`, and only when it is there for `c` in it. */
function presence({ left, attr }: Extract<OperatorJson, { has: unknown }>['has'], scene: Scene): Finding {
  const start = isContext(left) ? { steps: [], shape: scene.context } : pathOf(left, scene);
  if (start === undefined) return UNKNOWN;
  const proves: string[] = [];
  let { steps, shape }: Path = start;
  for (const name of typeof attr === 'string' ? [attr] : attr) {
    if (shape.kind !== 'record') return UNKNOWN;
    const attribute = shape.attributes.get(name);
    // Not declared: never there, and false without error.
    if (attribute === undefined) return { ...SAFE, proves };
    steps = [...steps, name];
    shape = attribute.shape;
    proves.push(nameOf(steps));
  }
  return { ...SAFE, proves };
}

interface Pair {
  readonly left: ExpressionJson;
  readonly right: ExpressionJson;
}

interface Path {
  readonly steps: readonly string[];
  readonly shape: ContextShape;
}

/** A path through records of the context that is certainly there. */
function pathOf(anyExpression: ExpressionJson, scene: Scene): Path | undefined {
  const expression = anyExpression as OperatorJson;
  if (!('.' in expression)) return undefined;
  const { left, attr } = expression['.'];
  const owner = isContext(left) ? { steps: [], shape: scene.context } : pathOf(left, scene);
  if (owner?.shape.kind !== 'record') return undefined;
  const attribute = owner.shape.attributes.get(attr);
  if (attribute === undefined) return undefined;
  const steps = [...owner.steps, attr];
  if (!attribute.isRequired && !scene.present.has(nameOf(steps))) return undefined;
  return { steps, shape: attribute.shape };
}

function nameOf(steps: readonly string[]): string {
  return JSON.stringify(steps);
}

function isContext(expression: ExpressionJson): boolean {
  return variableOf(expression) === 'context';
}

function isEntityVariable(expression: ExpressionJson): boolean {
  const variable = variableOf(expression);
  return variable !== undefined && variable !== 'context';
}

function variableOf(expression: ExpressionJson): string | undefined {
  const operator = expression as OperatorJson;
  return 'Var' in operator ? operator.Var : undefined;
}

/** A text, a flag, a number or an entity, as the policy states it. */
function constant(expression: ExpressionJson): unknown {
  const operator = expression as OperatorJson;
  return 'Value' in operator ? operator.Value : undefined;
}

function isConstant(expression: ExpressionJson): boolean {
  const value = constant(expression);
  if (typeof value === 'object' && value !== null) return '__entity' in value;
  return value !== undefined && value !== null;
}

function isConstantOrSet(expression: ExpressionJson): boolean {
  return isConstant(expression) || (elementsOf(expression)?.every(isConstant) ?? false);
}

function isReadable(expression: ExpressionJson, scene: Scene): boolean {
  return isConstant(expression) || isEntityVariable(expression) || pathOf(expression, scene) !== undefined;
}

function isLong(expression: ExpressionJson, scene: Scene): boolean {
  return typeof constant(expression) === 'number' || pathOf(expression, scene)?.shape.kind === 'long';
}

function elementsOf(expression: ExpressionJson): readonly ExpressionJson[] | undefined {
  const operator = expression as OperatorJson;
  return 'Set' in operator ? operator.Set : undefined;
}

function textsOf(expressions: readonly ExpressionJson[] | undefined): readonly string[] | undefined {
  const values = expressions?.map(constant);
  return values?.every((value) => typeof value === 'string') ? values : undefined;
}

/** Texts tell more requests apart than members of sets, and those more than flags. */
const SELECTIVITY = { equals: 0, holds: 1, flag: 2 } as const;

function moreSelective(
  one: readonly ContextTest[] | undefined,
  other: readonly ContextTest[] | undefined,
): readonly ContextTest[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return rank(other) < rank(one) ? other : one;
}

function rank(tests: readonly ContextTest[]): number {
  return Math.max(...tests.map(({ kind }) => SELECTIVITY[kind])) + tests.length / 1000;
}
