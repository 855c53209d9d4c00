import type { LoadedProgram } from '../program.ts';
import { createMemories, type TransactionMemories } from '../transaction-memory.ts';
import type { Connection } from './connection.ts';

/** What programs that ask for it know from one transaction to the next, for as long as nobody else writes. */
export interface KeptMemories {
  /** In a transaction that holds the write lock. What is taken is gone unless it is kept again. */
  take(): TransactionMemories;
  /** After its transaction was committed. */
  keep(memories: TransactionMemories): void;
}

export function createKeptMemories(connection: Connection, programs: ReadonlyMap<string, LoadedProgram>): KeptMemories {
  const keeping = [...programs].filter(([, { program }]) => program.keepsMemory === true).map(([name]) => name);
  let kept: ReadonlyMap<string, unknown> = new Map();
  let version: number | undefined;
  return {
    take() {
      const known = kept;
      kept = new Map();
      if (keeping.length === 0) return createMemories();
      // SQLite counts the commits of others, and with the lock there will be no more of them: what we know still holds.
      const now = Number(connection.query('pragma data_version', []).rows[0]?.['data_version']);
      const isAlone = now === version;
      version = now;
      return createMemories(isAlone ? known : undefined);
    },
    keep(memories) {
      kept = memories.only(keeping);
    },
  };
}
