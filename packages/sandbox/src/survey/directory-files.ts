import { lstatSync, readdirSync, statSync } from 'node:fs';
import type { DirectoryFiles } from './landlock-rules.ts';

/** Nothing here throws: what cannot be looked at is not there, and whoever asks goes on to a refusal with a reason. */
export const hostDirectories: DirectoryFiles = {
  list(directory) {
    try {
      const entries = readdirSync(directory, { withFileTypes: true });
      return entries.map((entry) => ({ name: entry.name, isLink: entry.isSymbolicLink() }));
    } catch {
      return undefined;
    }
  },
  identity(directory) {
    const found = orUndefined(() => lstatSync(directory));
    return found?.isDirectory() === true ? `${found.dev}-${found.ino}-${found.uid}-${found.mode}` : undefined;
  },
  fileId(path) {
    // Some file systems have inode numbers that a double does not hold.
    const found = orUndefined(() => lstatSync(path, { bigint: true }));
    return found === undefined ? undefined : `${found.dev} ${found.ino}`;
  },
  stamp(directory) {
    const found = orUndefined(() => statSync(directory, { bigint: true }));
    return found === undefined ? undefined : `${found.ino}-${found.mtimeNs}-${found.ctimeNs}`;
  },
};

function orUndefined<Found>(look: () => Found): Found | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
