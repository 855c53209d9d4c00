import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats } from 'node:fs';
import { visibleText } from '@palyra/primitives';
import { ConfigError } from './config-error.ts';
import { othersMayWrite } from './ownership.ts';
import { shellWord } from './shell-word.ts';

export type ConfigFile = { readonly kind: 'absent' } | { readonly kind: 'present'; readonly text: string };

const LARGEST_FILE = 1024 * 1024;

/**
 * Only a file that does not exist is `absent`. One that exists and cannot be read, or that others could have written,
 * throws `ConfigError`: falling back to defaults would silently drop what the operator decided.
 */
export function readConfigFile(path: string): ConfigFile {
  const descriptor = openForReading(path);
  if (descriptor === undefined) return { kind: 'absent' };
  try {
    // Asked of the open file and not of its name, which may lead elsewhere a moment later.
    const stats = fstatSync(descriptor);
    refuseUnlessOrdinary(path, stats);
    refuseUnlessOurs(path, stats);
    return { kind: 'present', text: decodeConfig(readAtMost(descriptor, LARGEST_FILE + 1), path) };
  } catch (thrown) {
    throw toUnreadable(path, thrown);
  } finally {
    closeSync(descriptor);
  }
}

/** The same limits for bytes from elsewhere, such as standard input. */
export function decodeConfig(bytes: Uint8Array, file: string): string {
  if (bytes.length > LARGEST_FILE) {
    throw unreadable(file, 'is larger than 1 MiB', 'Give a configuration file; this is too large to be one.');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unreadable(file, 'is not UTF-8 text', 'Save it as UTF-8.');
  }
}

function openForReading(path: string): number | undefined {
  try {
    // O_NONBLOCK: opening a named pipe would otherwise wait for a writer that never comes.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw toUnreadable(path, thrown);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    throw unreadable(path, 'is a symbolic link to a file that is not there', 'Remove the link or restore its target.');
  }
}

function refuseUnlessOrdinary(path: string, stats: Stats): void {
  if (stats.isFile()) return;
  const kind = stats.isDirectory() ? 'a directory' : 'not an ordinary file';
  throw unreadable(path, `is ${kind}`, 'Put an ordinary file there, or remove it to use the defaults.');
}

function refuseUnlessOurs(path: string, stats: Stats): void {
  // SECURITY: T-40 — whoever can write this file chooses the database, and so what was approved and what is attested.
  const fault = othersMayWrite({ uid: stats.uid, mode: stats.mode, word: shellWord(path) }, process.geteuid?.());
  if (fault === undefined) return;
  throw new ConfigError('config.unsafe_permissions', `${visibleText(path)} ${fault.sentence}.`, { fix: fault.fix });
}

function readAtMost(descriptor: number, limit: number): Uint8Array {
  const buffer = Buffer.alloc(limit);
  let length = 0;
  while (length < limit) {
    const count = readSync(descriptor, buffer, length, limit - length, null);
    if (count === 0) break;
    length += count;
  }
  return buffer.subarray(0, length);
}

function toUnreadable(path: string, thrown: unknown): ConfigError {
  if (thrown instanceof ConfigError) return thrown;
  switch (errorCode(thrown)) {
    case 'EACCES':
    case 'EPERM':
      return unreadable(path, 'may not be read by this user', 'Run as its owner, or let this user read it.', thrown);
    case 'ELOOP':
      return unreadable(path, 'is a symbolic link that leads back to itself', 'Remove the link.', thrown);
    case 'ENOTDIR':
      return unreadable(path, 'lies below something that is not a directory', 'Choose another home.', thrown);
    case 'ENAMETOOLONG':
      return unreadable(path, 'has too long a name', 'Choose another home.', thrown);
    default:
      return unreadable(path, 'could not be read', 'Check the disk and the path.', thrown);
  }
}

function unreadable(path: string, sentence: string, fix: string, cause?: unknown): ConfigError {
  return new ConfigError('config.unreadable', `${visibleText(path)} ${sentence}.`, { fix, cause });
}

function errorCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
}
