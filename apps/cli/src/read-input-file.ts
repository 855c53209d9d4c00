import { readFileSync } from 'node:fs';
import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext } from './command.ts';
import { resolvePath } from './find-home.ts';
import { readStdin } from './read-stdin.ts';

/** The bytes of a file that a person named; `-` is standard input. Throws `cli.file_missing`, `cli.file_unreadable`. */
export async function readInputFile(typed: string, context: CommandContext): Promise<Uint8Array> {
  if (typed === '-') return readStdin(context);
  const path = resolvePath(typed, context);
  try {
    return readFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
}

export function unreadable(path: string, cause: unknown): CliError {
  const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
  const [code, what] = isMissing
    ? (['cli.file_missing', 'is not there'] as const)
    : (['cli.file_unreadable', 'cannot be read'] as const);
  return new CliError(code, `${visibleText(path)} ${what}.`, { fix: 'Check the path.', cause });
}
