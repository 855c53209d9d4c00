import { dirname } from 'node:path';
import type { SurveyFiles } from './survey-files.ts';

const PLACES = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap', '/run/current-system/sw/bin/bwrap'] as const;

/** Not by PATH, and only if nobody but root can replace it: whoever writes it decides what a sandbox is. */
export function findBubblewrap(files: Pick<SurveyFiles, 'stat' | 'realPath'>): string | undefined {
  return PLACES.map((path) => files.realPath(path)).find((path) => {
    if (path === undefined) return false;
    // SECURITY: T-20 — a program of that name that others can write is not our wall.
    return isRoots(path, files) && isRoots(dirname(path), files);
  });
}

function isRoots(path: string, files: Pick<SurveyFiles, 'stat'>): boolean {
  const found = files.stat(path);
  return found !== undefined && found.uid === 0 && (found.mode & 0o022) === 0;
}
