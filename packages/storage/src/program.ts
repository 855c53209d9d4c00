import type { Compilable, Kysely } from 'kysely';
import { StorageError } from './storage-error.ts';
import type { TransactionMemory } from './transaction-memory.ts';
import { compiledStep, type Notification, type StatementStep } from './unit.ts';
import type { Row } from './value.ts';

export interface QueryResult {
  readonly rowCount: number;
  readonly rows: readonly Row[];
}

/**
 * A step that needs the writer's state, such as the next sequence number. It is a generator that yields queries and is
 * handed their results, so the same program runs synchronously in SQLite's writer thread and asynchronously on
 * PostgreSQL, and can do nothing else in between. Programs of one name never run at the same time.
 */
export interface WriterProgram<Input = never, Output = unknown, Settings = never, Memory = never> {
  readonly name: string;
  /**
   * The memory outlives the transaction where we can tell that nobody else has written since (SQLite), so it need not be
   * read again. Only for what no statement step writes: a program does not see those.
   */
  readonly keepsMemory?: true;
  run(build: Kysely<never>, input: Input, context: ProgramContext<Settings, Memory>): ProgramRun<Output>;
  /**
   * The last act of every transaction in which the program ran, once for all units that share it, such as signing what
   * they added. It must say whether there is anything to do by looking: the units may have come to nothing. Returns what
   * to tell subscribers. When it fails, nothing of the transaction is kept.
   */
  seal?(build: Kysely<never>, context: ProgramContext<Settings, Memory>): ProgramRun<readonly Notification[]>;
}

export interface ProgramContext<Settings, Memory> {
  readonly settings: Settings;
  readonly memory: TransactionMemory<Memory>;
}

export type ProgramRun<Output> = Generator<StatementStep, Output, QueryResult>;

/** Where a program lives: the writer imports the module itself, for functions do not travel between threads. */
export interface ProgramModule {
  readonly name: string;
  /** URL of a module whose default export is the `WriterProgram`. */
  readonly module: string;
  /** Handed to each run of the program. Must survive a structured clone. */
  readonly settings?: unknown;
}

export interface LoadedProgram {
  readonly program: WriterProgram;
  readonly settings: unknown;
}

/** Inside a program: `const heads = yield* rowsOf(build.selectFrom('heads').selectAll())`. */
export function* rowsOf<Output>(query: Compilable<Output>): ProgramRun<readonly Output[]> {
  const result = yield compiledStep(query.compile());
  return result.rows as readonly Output[];
}

/** Inside a program: a change that must touch so many rows, or the whole unit is a conflict. */
export function* change(query: Compilable, rows: number): ProgramRun<number> {
  const result = yield compiledStep(query.compile(), rows);
  return result.rowCount;
}

/** Imports the programs. Throws `storage.program_failed` for a module that is not the program it is registered as. */
export async function loadPrograms(modules: readonly ProgramModule[]): Promise<ReadonlyMap<string, LoadedProgram>> {
  const programs = new Map<string, LoadedProgram>();
  for (const { name, module, settings } of modules) {
    const loaded = await importProgram(name, module);
    if (loaded?.name !== name) {
      throw new StorageError(
        'storage.program_failed',
        `The module registered as ${name} does not export that program.`,
      );
    }
    programs.set(name, { program: loaded, settings });
  }
  return programs;
}

async function importProgram(name: string, module: string): Promise<WriterProgram | undefined> {
  try {
    return ((await import(module)) as { default?: WriterProgram }).default;
  } catch (cause) {
    throw new StorageError('storage.program_failed', `The module of the program ${name} cannot be loaded.`, { cause });
  }
}
