import { AppError } from '@palyra/primitives/bare';
import type { Kysely } from 'kysely';
import type { LoadedProgram, ProgramRun, QueryResult } from './program.ts';
import { StorageError } from './storage-error.ts';
import type { TransactionMemories } from './transaction-memory.ts';
import {
  type CommitOutcome,
  type CommitUnit,
  checkNotifications,
  type Notification,
  type ProgramStep,
  type StatementStep,
  type StepResult,
} from './unit.ts';
import { checkStorable } from './value.ts';

export interface UnitPrograms {
  readonly build: Kysely<never>;
  readonly programs: ReadonlyMap<string, LoadedProgram>;
}

/** In one transaction. */
export interface TransactionPrograms extends UnitPrograms {
  readonly memories: TransactionMemories;
}

type Conflict = Extract<CommitOutcome, { kind: 'conflict' }>;

/**
 * The meaning of a unit, written once for all drivers: it yields statements and is handed their results. The driver
 * opens the transaction before and commits after `committed`, rolls back after `conflict` and on anything thrown.
 */
export function* runUnit(unit: CommitUnit, context: TransactionPrograms): ProgramRun<CommitOutcome> {
  const results: StepResult[] = [];
  for (const [index, step] of unit.steps.entries()) {
    const outcome =
      step.kind === 'statement' ? yield* runStatement(step, index) : yield* runProgram(step, index, context);
    if (outcome.kind === 'conflict') return outcome;
    results.push(outcome);
  }
  return { kind: 'committed', results };
}

function* runStatement(step: StatementStep, index: number): ProgramRun<StepResult | Conflict> {
  const result = yield step;
  const failed = wrongCount(step, result);
  if (failed !== undefined) return { kind: 'conflict', step: index, ...failed };
  return { kind: 'statement', rowCount: result.rowCount, rows: result.rows };
}

function* runProgram(
  step: ProgramStep,
  index: number,
  { build, programs, memories }: TransactionPrograms,
): ProgramRun<StepResult | Conflict> {
  const loaded = programs.get(step.name);
  if (loaded === undefined)
    throw new StorageError('storage.program_failed', `No program is registered as ${step.name}.`);
  const context = { settings: loaded.settings as never, memory: memories.of(step.name) };
  const run = loaded.program.run(build, step.input as never, context);
  const ended = yield* drive(step.name, run);
  if ('failed' in ended) {
    return { kind: 'conflict', step: index, expected: ended.failed.expected, actual: ended.failed.actual };
  }
  return { kind: 'program', output: cloneOf(step.name, ended.output) };
}

/** The programs that these units run, and so those that have something to seal. */
export function programsIn(units: readonly CommitUnit[]): ReadonlySet<string> {
  return new Set(units.flatMap(({ steps }) => steps.flatMap((step) => (step.kind === 'program' ? [step.name] : []))));
}

/** The end of a transaction: throws when a program does not seal, and then the driver keeps nothing. */
export function* sealPrograms(
  names: ReadonlySet<string>,
  { build, programs, memories }: TransactionPrograms,
): ProgramRun<readonly Notification[]> {
  const told: Notification[] = [];
  for (const name of names) {
    const loaded = programs.get(name);
    if (loaded?.program.seal === undefined) continue;
    const ended = yield* drive(
      name,
      loaded.program.seal(build, { settings: loaded.settings as never, memory: memories.of(name) }),
    );
    if ('failed' in ended) throw new StorageError('storage.program_failed', `The program ${name} could not seal.`);
    told.push(...(ended.output as readonly Notification[]));
  }
  return checkNotifications(told);
}

interface WrongCount {
  readonly expected: number;
  readonly actual: number;
}

function* drive(
  name: string,
  run: ProgramRun<unknown>,
): ProgramRun<{ readonly output: unknown } | { readonly failed: WrongCount }> {
  let next = resume(name, () => run.next(undefined as never));
  while (next.done !== true) {
    refuseTransactionControl(next.value.sql);
    const parameters = checkStorable(next.value.parameters);
    const result = yield parameters === next.value.parameters ? next.value : { ...next.value, parameters };
    const failed = wrongCount(next.value, result);
    if (failed !== undefined) return { failed };
    next = resume(name, () => run.next(result));
  }
  return { output: next.value };
}

function resume<Result>(name: string, advance: () => Result): Result {
  try {
    return advance();
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    if (cause instanceof AppError) {
      const fix = cause.fix === undefined ? {} : { fix: cause.fix };
      throw new StorageError('storage.program_failed', cause.message, { cause, programCode: cause.code, ...fix });
    }
    const reason = cause instanceof Error ? cause.message : 'no reason given';
    throw new StorageError('storage.program_failed', `The program ${name} threw: ${reason}`, { cause });
  }
}

const CONTROL =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

/** A program that ended the transaction would make other callers' units durable, or undo them, behind their backs. */
function refuseTransactionControl(sql: string): void {
  if (innocent.has(sql)) return;
  if (CONTROL.test(sql)) throw new StorageError('storage.invalid_statement', 'A step may not control the transaction.');
  if (innocent.size >= MOST_INNOCENT) innocent.clear();
  innocent.add(sql);
}

/** The same few statements run all the time. */
const innocent = new Set<string>();
const MOST_INNOCENT = 256;

/** Before the commit: an output that cannot travel to the caller must not leave it in doubt about a unit that happened. */
function cloneOf(name: string, output: unknown): unknown {
  if (isPlain(output)) return output;
  try {
    return structuredClone(output);
  } catch (cause) {
    throw new StorageError('storage.program_failed', `The program ${name} returned what cannot be sent.`, { cause });
  }
}

const PLAIN_DEPTH = 4;

/** Certainly can travel: text and numbers, and lists and records of them. Most outputs are no more, and stay as they are. */
function isPlain(value: unknown, depth = 0): boolean {
  if (typeof value === 'string' || typeof value === 'number' || value === null || value === undefined) return true;
  // A cycle has no bottom; what is that deep is cloned.
  if (depth === PLAIN_DEPTH || typeof value !== 'object') return false;
  if (!Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.values(value).every((inner) => isPlain(inner, depth + 1));
}

function wrongCount(step: StatementStep, result: QueryResult): WrongCount | undefined {
  if (step.rows === undefined || step.rows === result.rowCount) return undefined;
  return { expected: step.rows, actual: result.rowCount };
}
