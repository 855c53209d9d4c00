import type { CompiledQuery, DatabaseConnection, Driver, QueryResult as KyselyResult } from 'kysely';
import type { QueryResult } from './program.ts';
import { StorageError } from './storage-error.ts';
import { checkParameters, type StoredValue } from './value.ts';

export type RunQuery = (sql: string, parameters: readonly StoredValue[]) => Promise<QueryResult>;

/** kysely's driver for reading: every query stands alone and goes to `runQuery`. */
export function createReadOnlyDriver(runQuery: RunQuery): Driver {
  const connection: DatabaseConnection = {
    async executeQuery<Output>(query: CompiledQuery): Promise<KyselyResult<Output>> {
      const { rows } = await runQuery(query.sql, checkParameters(query.parameters));
      return { rows: [...rows] as Output[] };
    },
    streamQuery(): never {
      throw unitsOnly('Streaming');
    },
  };
  const refuseTransaction = () => Promise.reject(unitsOnly('A transaction'));
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connection),
    releaseConnection: () => Promise.resolve(),
    beginTransaction: refuseTransaction,
    commitTransaction: refuseTransaction,
    rollbackTransaction: refuseTransaction,
    destroy: () => Promise.resolve(),
  };
}

function unitsOnly(what: string): StorageError {
  return new StorageError(
    'storage.invalid_statement',
    `${what} is not part of reading; units are the only transactions.`,
  );
}
