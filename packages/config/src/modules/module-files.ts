import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson, sha256Hex, visibleText } from '@palyra/primitives';
import { ConfigError } from '../config-error.ts';
import { othersMayWrite } from '../ownership.ts';
import { shellWord } from '../shell-word.ts';
import { MANIFEST_FORMAT, type ModuleManifest, parseManifest } from './module-manifest.ts';

/** A module as it lies in the home. */
export interface StoredModule {
  readonly name: string;
  readonly manifest: ModuleManifest;
  /** Of the manifest's text. */
  readonly manifestSha256: string;
  readonly bytes: Uint8Array;
  /** What is in `files`, by path. */
  readonly files: readonly StoredFile[];
}

export type StoredFile =
  | { readonly kind: 'file'; readonly path: string; readonly content: Uint8Array }
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

export interface NewModule {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly description?: string;
  readonly grants: Partial<ModuleManifest['grants']>;
  readonly limits: ModuleManifest['limits'];
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const MOST_MODULE_BYTES: number = 64 * 1024 * 1024;
const MOST_MANIFEST_BYTES: number = 256 * 1024;
const MOST_FILES_BYTES: number = 16 * 1024 * 1024;
const MOST_FILES = 10_000;

/** Throws `ConfigError`: `config.unreadable` when there is none, and for whatever is not as the operator left it. */
export async function readModule(directory: string, name: string): Promise<StoredModule> {
  const place = join(directory, checkName(name));
  const text = await readOwn(join(place, 'module.json'), MOST_MANIFEST_BYTES);
  const manifest = parseManifest(parseJson(text, { maxLength: MOST_MANIFEST_BYTES }), `${name}/module.json`);
  const bytes = await readOwn(join(place, 'module.wasm'), MOST_MODULE_BYTES);
  // SECURITY: T-04 — the operator signed off these bytes and no others.
  if (sha256Hex(bytes) !== manifest.sha256) {
    throw new ConfigError('config.invalid_value', `The module ${name} is not the one that its manifest names.`, {
      fix: `Look where it comes from, then: palyra module add ${name} FILE --replace`,
    });
  }
  const files = manifest.grants.files === '' ? [] : await readTree(join(place, 'files'));
  return { name, manifest, manifestSha256: sha256Hex(text), bytes, files };
}

/** Names, in order; those that cannot be read too. */
export async function listModules(directory: string): Promise<readonly string[]> {
  const found = await readdir(directory, { withFileTypes: true }).catch(() => []);
  return found
    .filter((entry) => entry.isDirectory() && NAME.test(entry.name))
    .map(({ name }) => name)
    .toSorted();
}

/** Whole or not at all. Throws `config.file_exists` unless it may replace one, `config.invalid_value`, `config.write_failed`. */
export async function addModule(
  directory: string,
  { name, bytes, description = '', grants, limits }: NewModule,
  { replace }: { readonly replace: boolean },
): Promise<ModuleManifest> {
  const place = join(directory, checkName(name));
  const manifest = parseManifest(
    { format: MANIFEST_FORMAT, sha256: sha256Hex(bytes), description, grants, limits },
    `${name}/module.json`,
  );
  const isThere = (await lstat(place).catch(() => undefined)) !== undefined;
  if (isThere && !replace) {
    throw new ConfigError('config.file_exists', `There is a module ${name} already.`, {
      fix: 'Give it another name, or --replace.',
    });
  }
  const temporary = join(directory, `.new-${process.pid}-${name}`);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary, { mode: 0o700 });
    await writeFile(join(temporary, 'module.wasm'), bytes, { mode: 0o600 });
    await writeFile(join(temporary, 'module.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    // The operator's own files stay with the name.
    if (isThere) await rename(join(place, 'files'), join(temporary, 'files')).catch(() => undefined);
    if (isThere) await rm(place, { recursive: true });
    await rename(temporary, place);
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true });
    throw new ConfigError('config.write_failed', `The module ${name} could not be written.`, {
      fix: `Check that ${visibleText(directory)} may be written.`,
      cause,
    });
  }
  return manifest;
}

/** Throws `config.unreadable` when there is none. */
export async function removeModule(directory: string, name: string): Promise<void> {
  const place = join(directory, checkName(name));
  if ((await lstat(place).catch(() => undefined)) === undefined) throw absent(name);
  await rm(place, { recursive: true });
}

/** SECURITY: T-14 — a name is one folder below the modules, and nothing that leads elsewhere. */
function checkName(name: string): string {
  if (NAME.test(name) && !name.includes('..')) return name;
  throw new ConfigError('config.invalid_value', `${visibleText(JSON.stringify(name))} is no name of a module.`, {
    fix: 'Use lower-case letters, digits, dots, dashes and underscores.',
  });
}

async function readOwn(path: string, most: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    (cause: unknown) => {
      const isAbsent = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT';
      throw isAbsent ? absent(path.split('/').at(-2) ?? '') : unreadable(path, 'cannot be read', cause);
    },
  );
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > most) throw unreadable(path, 'is not an ordinary file of a sensible size');
    // SECURITY: T-40 — whoever can write here grants a module what they like.
    const fault = othersMayWrite({ uid: stats.uid, mode: stats.mode, word: shellWord(path) }, process.geteuid?.());
    if (fault !== undefined) {
      throw new ConfigError('config.unsafe_permissions', `${visibleText(path)} ${fault.sentence}.`, { fix: fault.fix });
    }
    return await file.readFile();
  } finally {
    await file.close();
  }
}

async function readTree(root: string): Promise<readonly StoredFile[]> {
  const found: StoredFile[] = [];
  let bytes = 0;
  const visit = async (below: string): Promise<void> => {
    const entries = await readdir(join(root, below), { withFileTypes: true }).catch((cause: unknown) => {
      throw unreadable(root, 'is granted to be read, and is not there', cause);
    });
    for (const entry of entries) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`;
      if (found.length >= MOST_FILES || bytes > MOST_FILES_BYTES)
        throw unreadable(root, 'holds more than 16 MiB or 10,000 files');
      if (entry.isDirectory()) {
        found.push({ kind: 'directory', path });
        await visit(path);
      } else if (entry.isSymbolicLink()) {
        // As it stands: the guest's file system follows it, and not out of it.
        found.push({ kind: 'link', path, target: await readlink(join(root, path)) });
      } else {
        const content = await readOwn(join(root, path), MOST_FILES_BYTES);
        bytes += content.length;
        found.push({ kind: 'file', path, content });
      }
    }
  };
  await visit('');
  return found;
}

function absent(name: string): ConfigError {
  return new ConfigError('config.unreadable', `There is no module ${visibleText(name)}.`, {
    fix: 'palyra module list shows those that there are; palyra module add adds one.',
  });
}

function unreadable(path: string, sentence: string, cause?: unknown): ConfigError {
  return new ConfigError('config.unreadable', `${visibleText(path)} ${sentence}.`, {
    fix: 'palyra module add writes it anew.',
    ...(cause === undefined ? {} : { cause }),
  });
}
