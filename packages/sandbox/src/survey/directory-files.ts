import { lstatSync, readdirSync, statSync } from 'node:fs';
import type { DirectoryFiles } from './landlock-rules.ts';

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
    const found = lstatSync(directory, { throwIfNoEntry: false });
    return found?.isDirectory() === true ? `${found.dev}-${found.ino}-${found.uid}-${found.mode}` : undefined;
  },
  fileId(path) {
    // Some file systems have inode numbers that a double does not hold.
    const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? undefined : `${found.dev} ${found.ino}`;
  },
  stamp(directory) {
    const found = statSync(directory, { throwIfNoEntry: false, bigint: true });
    return found === undefined ? undefined : `${found.ino}-${found.mtimeNs}-${found.ctimeNs}`;
  },
};
