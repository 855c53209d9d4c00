import { type Dirent, opendirSync } from 'node:fs';
import { toBytes } from './path-bytes.ts';

/** So many are read at once. */
const BUFFER_SIZE = 256;

/**
 * Names in a directory, as they are asked for: who has enough, stops. Each byte of a name is a character of its own.
 * Throws when it cannot be read.
 */
export function* listing(path: string): Generator<Dirent, void> {
  const directory = opendirSync(toBytes(path), { encoding: 'latin1', bufferSize: BUFFER_SIZE });
  try {
    for (let each = directory.readSync(); each !== null; each = directory.readSync()) yield each;
  } finally {
    directory.closeSync();
  }
}
