import { engine, instrument } from '@palyra/wasm';
import { readModuleForm } from './assemble.ts';
import { define, instantiate, LIMITS } from './make-pair.ts';
import type { Expectation, Outcome } from './outcomes.ts';
import { compare, lineOf, type Pair, type Running } from './running.ts';
import { headOf, type Node, stringOf, wordOf } from './syntax.ts';
import { parseValue, type WastValue } from './values.ts';
import { type Actor, invoke, readGlobal, type World } from './world.ts';

/** An action in both worlds. */
export function settle(running: Running, action: Node | undefined, expectation: Expectation): void {
  const pair = pairOf(running, action);
  if (pair === undefined || action?.kind !== 'list') {
    running.skipped += 1;
    return;
  }
  const items = action.items.slice(1).filter((item) => wordOf(item) === undefined);
  const name = stringOf(items[0]) ?? '';
  const act = actionOf(headOf(action), name, items.slice(1).map(parseValue));
  if (act === undefined) {
    running.skipped += 1;
    running.unsupported.push('a value that only garbage collection has');
    return;
  }
  const outcomes = [act(running.plain, pair.plain), act(running.metered, pair.metered)] as const;
  // What `get` reads has come through JavaScript and lost its type.
  const patterns = headOf(action) === 'get' ? undefined : expectation.patterns;
  compare(running, action, { outcomes, ...expectation, patterns });
}

function actionOf(head: string, name: string, args: readonly (WastValue | undefined)[]) {
  if (head === 'get') return (world: World, actor: Actor) => readGlobal(world, actor, name);
  const known = args.filter((arg) => arg !== undefined);
  if (known.length !== args.length) return undefined;
  return (world: World, actor: Actor) => invoke(world, actor, { name, args: known });
}

function pairOf(running: Running, action: Node | undefined): Pair {
  const named = action?.kind === 'list' ? wordOf(action.items[1]) : undefined;
  return named === undefined ? running.latest : running.pairs.get(named);
}

const FAILURES: Readonly<Record<string, Outcome['kind']>> = {
  assert_trap: 'trapped',
  assert_exhaustion: 'exhausted',
  assert_exception: 'thrown',
  assert_unlinkable: 'unlinkable',
};

/** An action, or a module whose instance fails. */
export async function runFailing(running: Running, head: string, subject: Node | undefined): Promise<void> {
  const expected = FAILURES[head];
  if (subject?.kind !== 'list' || headOf(subject) !== 'module' || expected === undefined) {
    return settle(running, subject, { patterns: undefined, expected });
  }
  const isInstance = wordOf(subject.items[1]) === 'instance';
  const known = running.definitions.get(wordOf(subject.items[2]) ?? '');
  instantiate(running, isInstance ? known : await define(running, readModuleForm(subject)), subject, expected);
}

/** A module that must not be accepted: not by V8, and so not by us. */
export async function runRefused(running: Running, subject: Node | undefined, head: string): Promise<void> {
  if (subject?.kind !== 'list') return;
  const assembled = await running.assembler.assemble(readModuleForm(subject), running.source, 'quick');
  // A text that is not even assembled is as refused as can be.
  if (assembled.kind === 'not_assembled') return;
  const isValid = engine.validate(assembled.bytes);
  const metered = instrument(assembled.bytes, LIMITS);
  if (!isValid && metered.kind === 'instrumented')
    running.disagreements.push(`${lineOf(running, subject)}: invalid, and metered all the same`);
  else running.agreed += 1;
  if (isValid && head === 'assert_invalid')
    running.deviations.push(`${lineOf(running, subject)}: V8 accepts what the script calls invalid`);
}
