import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { visibleText } from '@palyra/primitives';
import { CliError } from '../cli-error.ts';

/** Undefined when there is none. Throws `cli.file_unreadable`, also of a link that leads nowhere: it is somebody's. */
export function readSettings(path: string): string | undefined {
  try {
    const bytes = readFile(path);
    // What is not text would come back as something else.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    // What is below a file is not there, as the agents see it.
    if (Object(cause).code === 'ENOTDIR') return undefined;
    if (Object(cause).code === 'ENOENT') {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
      throw new CliError('cli.file_unreadable', `${visibleText(path)} is a link that leads nowhere.`, {
        fix: 'Make the file that it leads to, or remove the link.',
        cause,
      });
    }
    throw new CliError('cli.file_unreadable', `${visibleText(path)} cannot be read as text.`, { cause });
  }
}

const LONGEST = 4 * 1024 * 1024;

/** SECURITY: T-39 — a project's settings may be a pipe, which nobody ever writes to, or a device that never ends. */
function readFile(path: string): Buffer {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile() || found.size > LONGEST) throw new Error('These are no settings.');
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** Throws `cli.settings_changed` when one of them is not as it was when the difference was shown. */
export function checkUnchanged(files: readonly { readonly path: string; readonly before: string | undefined }[]): void {
  const changed = files.find(({ path, before }) => readSettings(path) !== before);
  if (changed === undefined) return;
  throw new CliError(
    'cli.settings_changed',
    `${visibleText(changed.path)} was changed meanwhile. Nothing was written.`,
    {
      fix: 'Run the command again, and look at the new difference.',
    },
  );
}

/** Whole or not at all, with the rights it had; through a link, to the file that it leads to. Returns directories it made. */
export function writeSettings(path: string, text: string): readonly string[] {
  const made = makeDirectories(dirname(path));
  const target = realPathOf(path);
  const draft = `${target}.palyra-${process.pid}`;
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
    const mode = modeOf(target);
    if (mode !== undefined) chmodSync(draft, mode);
    renameSync(draft, target);
  } finally {
    rmSync(draft, { force: true });
  }
  return made;
}

/** With the directories that were made for it, where nothing else came into them since. */
export function removeSettings(path: string, made: readonly string[]): void {
  rmSync(path, { force: true });
  for (const directory of made.toReversed()) {
    try {
      rmdirSync(directory);
    } catch {
      return;
    }
  }
}

/** From the outermost to the innermost. */
function makeDirectories(directory: string): readonly string[] {
  if (modeOf(directory) !== undefined) return [];
  const made = makeDirectories(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
  return [...made, directory];
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return join(realpathSync(dirname(path)), path.slice(path.lastIndexOf('/') + 1));
  }
}

function modeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mode;
}
