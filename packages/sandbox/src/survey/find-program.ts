import { join } from 'node:path';
import type { SurveyFiles } from './survey-files.ts';

export interface ProgramQuestion {
  /** The command's first word. */
  readonly name: string;
  /** The tool's PATH. */
  readonly path: string;
  readonly cwd: string;
  readonly files: Pick<SurveyFiles, 'stat'>;
}

/** Where the tool's own shell would find it; undefined when nowhere. */
export function findProgram({ name, path, cwd, files }: ProgramQuestion): string | undefined {
  if (name.includes('/')) return join('/', name.startsWith('/') ? name : join(cwd, name));
  return path
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
    .find((candidate) => {
      const found = files.stat(candidate);
      return found?.kind === 'file' && (found.mode & 0o111) !== 0;
    });
}
