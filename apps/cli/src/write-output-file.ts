import { type FileHandle, open, rm } from 'node:fs/promises';
import { visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';
import type { CommandContext, CommandResult } from './command.ts';
import { resolvePath } from './find-home.ts';

/**
 * The text goes to the file that was named, for this user alone, or to standard output. A file that is there is not
 * overwritten: throws `cli.file_exists`.
 */
export async function toFileOrStdout(
  text: AsyncIterable<string>,
  typed: unknown,
  context: CommandContext,
): Promise<CommandResult> {
  if (typeof typed !== 'string') return { json: null, render: () => '', stream: text };
  return toFile(text, typed, context);
}

/** Throws `cli.file_exists`, `cli.output_failed`. */
export async function toFile(
  content: AsyncIterable<string | Uint8Array>,
  typed: string,
  context: CommandContext,
): Promise<CommandResult> {
  const file = resolvePath(typed, context);
  const bytes = await writeAll(content, file);
  return { json: { file, bytes }, render: () => `Wrote ${bytes} bytes to ${visibleText(file)}.\n` };
}

/** Nothing is left where the text, or the disk, comes to an end too early. */
async function writeAll(content: AsyncIterable<string | Uint8Array>, path: string): Promise<number> {
  let file: FileHandle | undefined;
  let bytes = 0;
  try {
    for await (const part of content) {
      file ??= await openNew(path);
      // `write` may stop half-way on a disk that is nearly full, and says so only in what it returns.
      await file.writeFile(part);
      bytes += typeof part === 'string' ? Buffer.byteLength(part) : part.length;
    }
    await file?.sync();
    return bytes;
  } catch (error) {
    if (file !== undefined) await rm(path, { force: true });
    throw error;
  } finally {
    await file?.close();
  }
}

async function openNew(path: string): Promise<FileHandle> {
  return open(path, 'wx', 0o600).catch((cause: unknown) => {
    const isThere = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST';
    const code = isThere ? 'cli.file_exists' : 'cli.output_failed';
    const message = `${visibleText(path)} ${isThere ? 'is there already' : 'cannot be written'}.`;
    throw new CliError(code, message, { fix: 'Name another file with --out.', cause });
  });
}
