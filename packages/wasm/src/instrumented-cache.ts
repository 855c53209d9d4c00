import { createHmac, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { equalInConstantTime, type Sha256Hex, sha256Hex, sha256OfJson } from '@palyra/primitives';
import { engine } from './host/engine.ts';
import { INSTRUMENTER_VERSION, type InstrumentedModule, type InstrumentResult } from './instrument.ts';
import { completeLimits, type ModuleLimits } from './limits.ts';
import { WasmError } from './wasm-error.ts';

export interface InstrumentedCacheDeps {
  /** Exists already, belongs to this user, and nobody else may write to it. */
  readonly directory: string;
  /** 32 secret bytes. Whoever has them not can put nothing into the cache that is taken out again. */
  readonly key: Uint8Array;
  /** Does the work when there is nothing to take. */
  instrument(bytes: Uint8Array, limits: Partial<ModuleLimits>): Promise<InstrumentResult> | InstrumentResult;
}

/** Metered modules by the digest of their source, the limits and the version of the instrumenter. */
export interface InstrumentedCache {
  /** As `instrument`. Refusals are not kept. Throws `WasmError` when the directory is not safe to use. */
  instrument(bytes: Uint8Array, limits?: Partial<ModuleLimits>): Promise<InstrumentResult>;
}

const KEY_BYTES = 32;
const SEAL_BYTES = 32;
const OTHERS_MAY_WRITE = 0o022;

export function createInstrumentedCache(deps: InstrumentedCacheDeps): InstrumentedCache {
  if (deps.key.length !== KEY_BYTES) throw unusable('Its key has not 32 bytes.');
  return {
    async instrument(bytes, changed = {}) {
      const limits = completeLimits(changed);
      const source = new Uint8Array(bytes);
      const entry = entryOf(sha256Hex(source), limits);
      await checkDirectory(deps.directory);
      const kept = await readEntry(deps, entry);
      if (kept !== undefined) return kept;
      const result = await deps.instrument(source, limits);
      if (result.kind === 'instrumented') await writeEntry(deps, entry, result);
      return result;
    },
  };
}

interface Entry {
  readonly sourceDigest: Sha256Hex;
  /** Names everything that decides what the metered module looks like, and whether there is one. */
  readonly id: Sha256Hex;
}

function entryOf(sourceDigest: Sha256Hex, limits: ModuleLimits): Entry {
  const id = sha256OfJson({
    source: sourceDigest,
    instrumenter: INSTRUMENTER_VERSION,
    engine: process.versions.v8,
    limits: { ...limits },
  });
  return { sourceDigest, id };
}

async function checkDirectory(directory: string): Promise<void> {
  const found = await lstat(directory).catch((cause: unknown) => {
    throw unusable('It is not there.', cause);
  });
  const isOurs = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & OTHERS_MAY_WRITE) === 0;
  if (!isOurs) throw unusable('It is not a directory that only this user may write to.');
}

async function readEntry(deps: InstrumentedCacheDeps, entry: Entry): Promise<InstrumentedModule | undefined> {
  const content = await contentOf(pathOf(deps, entry));
  if (content === undefined) return undefined;
  const seal = content.subarray(0, SEAL_BYTES);
  const body = content.subarray(SEAL_BYTES);
  // SECURITY: T-26 — a file somebody put there is a module without a meter: only what this key has sealed, for this very entry, is run.
  if (!equalInConstantTime(seal, sealOf(deps.key, entry, body))) return undefined;
  const [size, bytes] = unpack(body);
  if (bytes === undefined || !engine.validate(bytes)) return undefined;
  const { sourceDigest } = entry;
  return { kind: 'instrumented', bytes, digest: sha256Hex(bytes), sourceDigest, importedMemory: size };
}

async function writeEntry(deps: InstrumentedCacheDeps, entry: Entry, module: InstrumentedModule): Promise<void> {
  const body = pack(module);
  const temporary = join(deps.directory, `.${randomBytes(12).toString('hex')}`);
  try {
    const file = await open(temporary, 'wx', 0o600);
    await using handle = closing(file);
    await handle.file.writeFile(Buffer.concat([sealOf(deps.key, entry, body), body]));
    await handle.file.sync();
    await rename(temporary, pathOf(deps, entry));
  } catch (cause) {
    await rm(temporary, { force: true });
    throw unusable('It cannot be written to.', cause);
  }
}

function closing(file: FileHandle): AsyncDisposable & { readonly file: FileHandle } {
  return { file, [Symbol.asyncDispose]: () => file.close() };
}

/** The file's bytes, or nothing when there is no such file of ours. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  try {
    // SECURITY: T-26 — a link could lead to a file that changes while it is read, or never ends.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    await using handle = closing(file);
    const found = await handle.file.stat();
    return found.isFile() && found.uid === process.getuid?.() ? await handle.file.readFile() : undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ELOOP') return undefined;
    throw unusable('It cannot be read.', error);
  }
}

function sealOf(key: Uint8Array, { id }: Entry, body: Uint8Array): Buffer {
  return createHmac('sha256', key).update(`palyra.wasm.cache.v1\0${id}\0`).update(body).digest();
}

/** The size of the imported memory, if any, and the module. */
function pack({ bytes, importedMemory }: InstrumentedModule): Buffer {
  const head = Buffer.alloc(9);
  if (importedMemory !== undefined) {
    head.writeUInt8(1, 0);
    head.writeUInt32LE(importedMemory.initial, 1);
    head.writeUInt32LE(importedMemory.maximum ?? 0, 5);
  }
  return Buffer.concat([head, bytes]);
}

function unpack(body: Buffer): [size: InstrumentedModule['importedMemory'], bytes: Uint8Array | undefined] {
  if (body.length < 9) return [undefined, undefined];
  const size = { initial: body.readUInt32LE(1), maximum: body.readUInt32LE(5) };
  return [body[0] === 1 ? size : undefined, new Uint8Array(body.subarray(9))];
}

function pathOf({ directory }: InstrumentedCacheDeps, { id }: Entry): string {
  return join(directory, `${id}.wasm`);
}

function unusable(why: string, cause?: unknown): WasmError {
  return new WasmError('wasm.cache_unusable', `The directory of metered modules cannot be used: ${why}`, {
    fix: 'Make it a directory of mode 0700 that belongs to the user palyrad runs as.',
    cause,
  });
}
