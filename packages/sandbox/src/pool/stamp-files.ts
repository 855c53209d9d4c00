import { readFileSync, statSync } from 'node:fs';
import type { StampFiles } from './mount-stamp.ts';

export const hostStampFiles: StampFiles = {
  identity(path) {
    try {
      const found = statSync(path, { throwIfNoEntry: false, bigint: true });
      return found === undefined ? undefined : `${found.dev} ${found.ino}`;
    } catch {
      return undefined;
    }
  },
  mountTable(pid) {
    try {
      return readFileSync(`/proc/${pid}/mountinfo`, 'utf8');
    } catch {
      return undefined;
    }
  },
};
