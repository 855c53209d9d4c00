import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { JoinedDevice } from '@palyra/identity';
import { parseId, visibleText } from '@palyra/primitives';
import { CliError } from './cli-error.ts';

/** Where a device that joined another home keeps what it got: below the identity directory of its own home. */
export interface JoinedFiles {
  readonly directory: string;
  /** The id it has there already; undefined when it has joined nowhere. */
  readonly device: string | undefined;
}

const FILES = { key: 'device.key', certificate: 'device.crt', authorities: 'authorities.crt', about: 'device.json' };

export function joinedDirectory(identityDirectory: string): string {
  return join(identityDirectory, 'joined');
}

/** Looks only. Throws `cli.file_exists` when the device has joined already and does not mean to do so again. */
export function findJoined(identityDirectory: string, { again }: { readonly again: boolean }): JoinedFiles {
  const directory = joinedDirectory(identityDirectory);
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return { directory, device: undefined };
  if (again) return { directory, device: deviceOf(directory) };
  throw new CliError('cli.file_exists', `This device has joined already: ${visibleText(directory)}.`, {
    fix: 'Give --again to pair it anew. Its host must be asked to replace it: palyra device pair --replace ID.',
  });
}

/** All files or none: they are written beside, and put in place at once. */
export function writeJoined({ directory }: JoinedFiles, joined: JoinedDevice): void {
  const beside = `${directory}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(beside, { recursive: true, mode: 0o700 });
    const { device, kind, name, ca } = joined;
    // SECURITY: T-40 — for this user alone from the first moment, not after a chmod.
    writePrivate(join(beside, FILES.key), joined.privateKeyPem);
    writePrivate(join(beside, FILES.certificate), joined.certificatePem);
    writePrivate(join(beside, FILES.authorities), joined.caPem);
    writePrivate(join(beside, FILES.about), `${JSON.stringify({ device, kind, name, ca })}\n`);
    const before = `${beside}.before`;
    const isThere = lstatSync(directory, { throwIfNoEntry: false }) !== undefined;
    if (isThere) renameSync(directory, before);
    renameSync(beside, directory);
    rmSync(before, { recursive: true, force: true });
  } catch (cause) {
    throw new CliError('cli.output_failed', `${visibleText(directory)} could not be written.`, {
      fix: 'Check the directory and the disk, and pair again with a new invitation.',
      cause,
    });
  } finally {
    rmSync(beside, { recursive: true, force: true });
  }
}

function writePrivate(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** What cannot be read is no reason to stay: the host decides whether it knows the id. */
function deviceOf(directory: string): string | undefined {
  try {
    return parseId('device', Object(JSON.parse(readFileSync(join(directory, FILES.about), 'utf8'))).device);
  } catch {
    return undefined;
  }
}
