import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { visibleText } from '@palyra/primitives';
import { ConfigError } from './config-error.ts';
import { parseConfig } from './parse-config.ts';

export interface WriteConfigOptions {
  /** `create` refuses when there is anything at the path; `replace` does not care. */
  readonly mode: 'create' | 'replace';
}

/**
 * Writes the file whole or not at all, and durably: readers see the old text or the new one, also after a crash.
 * Throws `ConfigError`, and then what was there before is there still.
 */
export function writeConfig(path: string, text: string, { mode }: WriteConfigOptions): void {
  parseConfig(text, path);
  refuseWhatIsThere(path, mode);
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
  try {
    writeDurably(temporary, text);
    if (mode === 'replace') renameSync(temporary, path);
    // A link fails when the name is taken, also when it was taken this very moment; a rename would overwrite.
    else linkSync(temporary, path);
    syncDirectory(dirname(path));
  } catch (thrown) {
    throw toWriteError(path, thrown);
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeDurably(path: string, text: string): void {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const descriptor = openSync(path, flags, 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function syncDirectory(path: string): void {
  // Windows cannot open a directory, and its rename is durable by itself.
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function refuseWhatIsThere(path: string, mode: WriteConfigOptions['mode']): void {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there?.isSymbolicLink() === true) {
    // A rename would replace the link and leave the file that the operator keeps elsewhere as it was.
    const message = `${visibleText(path)} is a symbolic link, which is not written through.`;
    throw new ConfigError('config.write_failed', message, { fix: 'Edit the file it leads to.' });
  }
  if (there !== undefined && mode === 'create') throw fileExists(path);
}

function toWriteError(path: string, thrown: unknown): ConfigError {
  if (thrown instanceof ConfigError) return thrown;
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST') return fileExists(path);
  return new ConfigError('config.write_failed', `${visibleText(path)} could not be written.`, {
    fix: 'Check the permissions of its directory and the space on its disk.',
    cause: thrown,
  });
}

function fileExists(path: string): ConfigError {
  return new ConfigError('config.file_exists', `${visibleText(path)} is there already.`, {
    fix: 'Edit it, or move it away first.',
  });
}
