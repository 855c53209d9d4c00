import { DatabaseSync } from 'node:sqlite';
import { StorageError } from '../storage-error.ts';
import { sqliteFault } from './sqlite-error.ts';

/**
 * Held until it is released or the process ends, however it ends: for what only one process may do. The file stays; what
 * counts is SQLite's lock on it, which the kernel gives back by itself. Throws `storage.locked` while another has it.
 */
export function holdLock(path: string): { release(): void } {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('begin exclusive');
  } catch (error) {
    database?.close();
    const fault = sqliteFault(error);
    if (fault.code !== 'storage.locked') throw fault;
    throw new StorageError('storage.locked', 'Another process holds the lock.', { cause: error });
  }
  const held = database;
  return { release: () => held.close() };
}
