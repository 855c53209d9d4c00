import { closeSync, constants, fsyncSync, openSync } from 'node:fs';

/** So that a file which was named, renamed or removed in it still is after a crash of the machine. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
