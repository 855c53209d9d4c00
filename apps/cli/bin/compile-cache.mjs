// Plain JavaScript for Node 18 and up.
import { lstatSync, mkdirSync } from 'node:fs';

const OTHERS_WRITE = 0o022;

/**
 * Where Node keeps what it made of the sources, so that the next command need not do it again: it takes half of the time.
 * Undefined at the first command of all, which only makes the directory: it has enough to do, and writing takes long.
 * @param {string} directory
 */
export function compileCache(directory) {
  try {
    const stat = lstatSync(directory, { throwIfNoEntry: false });
    if (stat === undefined) {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      return undefined;
    }
    // SECURITY: T-40 — what is in there is run: of this user alone, or not at all.
    const isOurs = stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & OTHERS_WRITE) === 0;
    return isOurs ? directory : undefined;
  } catch {
    // Sources that this user cannot write beside, such as somebody else's checkout.
    return undefined;
  }
}
