import type { Kysely } from 'kysely';
import type { ProgramRun, QueryResult, WriterProgram } from './program.ts';
import { StorageError } from './storage-error.ts';
import type { CommitOutcome, CommitUnit, ProgramStep, StatementStep, StepResult } from './unit.ts';
import { checkParameters } from './value.ts';

export interface UnitPrograms {
  readonly build: Kysely<never>;
  readonly programs: ReadonlyMap<string, WriterProgram>;
}

type Conflict = Extract<CommitOutcome, { kind: 'conflict' }>;

/**
 * The meaning of a unit, written once for all drivers: it yields statements and is handed their results. The driver
 * opens the transaction before and commits after `committed`, rolls back after `conflict` and on anything thrown.
 */
export function* runUnit(unit: CommitUnit, context: UnitPrograms): ProgramRun<CommitOutcome> {
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
  return conflictIn(step, result, index) ?? { kind: 'statement', rowCount: result.rowCount, rows: result.rows };
}

function* runProgram(
  step: ProgramStep,
  index: number,
  { build, programs }: UnitPrograms,
): ProgramRun<StepResult | Conflict> {
  const program = programs.get(step.name);
  if (program === undefined)
    throw new StorageError('storage.program_failed', `No program is registered as ${step.name}.`);
  const run = program.run(build, step.input as never);
  let next = resume(step.name, () => run.next(undefined as never));
  while (next.done !== true) {
    refuseTransactionControl(next.value.sql);
    const result = yield { ...next.value, parameters: checkParameters(next.value.parameters) };
    const conflict = conflictIn(next.value, result, index);
    if (conflict !== undefined) return conflict;
    next = resume(step.name, () => run.next(result));
  }
  return { kind: 'program', output: cloneOf(step.name, next.value) };
}

function resume<Result>(name: string, advance: () => Result): Result {
  try {
    return advance();
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    const reason = cause instanceof Error ? cause.message : 'no reason given';
    throw new StorageError('storage.program_failed', `The program ${name} threw: ${reason}`, { cause });
  }
}

const CONTROL =
  /^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)*(?:begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

/** A program that ended the transaction would make other callers' units durable, or undo them, behind their backs. */
function refuseTransactionControl(sql: string): void {
  if (CONTROL.test(sql)) throw new StorageError('storage.invalid_statement', 'A step may not control the transaction.');
}

/** Before the commit: an output that cannot travel to the caller must not leave it in doubt about a unit that happened. */
function cloneOf(name: string, output: unknown): unknown {
  try {
    return structuredClone(output);
  } catch (cause) {
    throw new StorageError('storage.program_failed', `The program ${name} returned what cannot be sent.`, { cause });
  }
}

function conflictIn(step: StatementStep, result: QueryResult, index: number): Conflict | undefined {
  if (step.rows === undefined || step.rows === result.rowCount) return undefined;
  return { kind: 'conflict', step: index, expected: step.rows, actual: result.rowCount };
}
