import type { ExpressionJson, PolicyJson } from './cedar.ts';

/**
 * Whether a policy cannot hold outside the workspace: its first condition begins with
 * `context has workspace && context.workspace == Palyra::Workspace::"ID"`.
 */
export function isLimitedTo({ conditions: [first] }: PolicyJson, workspace: string): boolean {
  if (first?.kind !== 'when') return false;
  const [has, equals] = conjuncts(first.body);
  return hasWorkspace(has) && equalsWorkspace(equals, workspace);
}

/** A policy for calls that reads what the arguments say and nothing of what the sandbox will hold. */
export function reliesOnDeclaredAlone({ action, conditions }: PolicyJson): boolean {
  if (!mayBeACall(action)) return false;
  const read = new Set<string>();
  for (const { body } of conditions) collectContextAttributes(body, read);
  return read.has('declared') && !read.has('enforced');
}

const CALLS: ReadonlySet<string> = new Set(['tool.execute', 'skill.execute', 'execute']);

function mayBeACall(action: PolicyJson['action']): boolean {
  if (action.op === 'All') return true;
  const named = 'entities' in action ? action.entities : 'entity' in action ? [action.entity] : [];
  return named.some((uid) => CALLS.has(String((operand(uid, '__entity') ?? operand({ uid }, 'uid'))?.['id'])));
}

/** The operands of `&&`, from left to right, however they are nested. */
function conjuncts(expression: ExpressionJson): readonly ExpressionJson[] {
  const found: ExpressionJson[] = [];
  const open = [expression];
  // Without recursion: a condition may be thousands of conjuncts long.
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const both = operand(next, '&&');
    if (both === undefined) found.push(next);
    else open.push(both['right'] as ExpressionJson, both['left'] as ExpressionJson);
  }
  return found;
}

function hasWorkspace(expression: ExpressionJson | undefined): boolean {
  const has = operand(expression, 'has');
  return has !== undefined && isContext(has['left']) && [has['attr']].flat().join('.') === 'workspace';
}

function equalsWorkspace(expression: ExpressionJson | undefined, workspace: string): boolean {
  const equals = operand(expression, '==');
  if (equals === undefined) return false;
  const { left, right } = equals;
  return (isItsWorkspace(left) && isEntity(right, workspace)) || (isItsWorkspace(right) && isEntity(left, workspace));
}

function isItsWorkspace(expression: unknown): boolean {
  const access = operand(expression, '.');
  return access !== undefined && access['attr'] === 'workspace' && isContext(access['left']);
}

function isEntity(expression: unknown, workspace: string): boolean {
  const entity = Object(operand(expression, 'Value')?.['__entity']);
  return entity.type === 'Palyra::Workspace' && entity.id === workspace;
}

function isContext(expression: unknown): boolean {
  return typeof expression === 'object' && expression !== null && Object(expression).Var === 'context';
}

/** Of any depth, wherever in the expression; `context has declared` reads nothing of it yet and counts all the same. */
function collectContextAttributes(expression: unknown, read: Set<string>): void {
  const open: unknown[] = [expression];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    for (const operator of ['.', 'has'] as const) {
      const access = operand(next, operator);
      const attribute = String([access?.['attr']].flat()[0]);
      // Reached in a roundabout way it is still declared; only what is plainly enforced counts as that.
      if (attribute === 'declared' || (access !== undefined && isContext(access['left']))) read.add(attribute);
    }
    open.push(...Object.values(next));
  }
}

function operand(expression: unknown, operator: string): Readonly<Record<string, unknown>> | undefined {
  if (typeof expression !== 'object' || expression === null || !Object.hasOwn(expression, operator)) return undefined;
  return (expression as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[operator];
}
