import { constants, type FileHandle, open } from 'node:fs/promises';
import { relative } from 'node:path';
import { sha256Hex } from '@palyra/primitives';
import type { CallPlace } from '../../catalog/tool.ts';
import type { FileChange, FileState } from '../../file-tools/worker/tool-shapes.ts';
import type { ChangeLog } from '../../tools/change-log.ts';
import type { LocatePath } from './locate-path.ts';

export interface KeepEditsDeps {
  readonly changes: ChangeLog;
  readonly locate: LocatePath;
}

/**
 * What an agent's own tool is about to overwrite is kept; resolves to what is done as soon as its agent says that the tool is
 * over, and else never. Does not throw.
 */
export type KeepEdits = (paths: readonly string[], place: CallPlace) => Promise<() => Promise<void>>;

/**
 * Before the agent is told that it may, and after it said that it did: the difference is what undoing puts back. What cannot be
 * kept (too large, no regular file, outside the workspace) is left out: the agent's own tool does not wait for room here.
 */
export function createKeepEdits({ changes, locate }: KeepEditsDeps): KeepEdits {
  return async (paths, { runId, callId, workspace }) => {
    const blobs = changes.blobsOf(runId);
    const before: Looked[] = [];
    for (const path of new Set(paths)) {
      const located = await locate({ path, access: 'write', workspace });
      if (located.kind === 'never' || located.kind === 'outside') continue;
      const looked = await look(workspace, relative(workspace, located.path)).catch(nothing);
      if (looked === undefined) continue;
      const { state, bytes } = looked;
      const isKept =
        state.kind === 'absent' || (await blobs.keep({ sha256: state.sha256, bytes }).then(yes, nothing)) === true;
      if (isKept) before.push(looked);
    }
    return async () => {
      const now = await Promise.all(before.map(({ path }) => look(workspace, path).catch(nothing)));
      const files = before.flatMap(({ path, state }, at): readonly FileChange[] => {
        const after = now[at]?.state;
        return after === undefined || isSame(state, after) ? [] : [{ path, before: state, after }];
      });
      const changed = new Set(files.map(({ path }) => path));
      const directories = before.flatMap(({ path, missing }) => (changed.has(path) ? missing : []));
      await changes
        .record({ runId, callId, workspace, changes: { files, directories: [...new Set(directories)].toSorted() } })
        .catch(nothing);
    };
  };
}

interface Looked {
  /** Relative to the workspace. */
  readonly path: string;
  readonly state: FileState;
  readonly bytes: Uint8Array;
  /** Directories above it that are not there, outermost first. */
  readonly missing: readonly string[];
}

/** As much as the file tools keep of one. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Undefined: nothing that could be put back. Throws what the file system says. */
async function look(workspace: string, path: string): Promise<Looked | undefined> {
  const names = path.split('/');
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const handles: FileHandle[] = [];
  const absent = (missing: readonly string[]): Looked => ({ path, state: { kind: 'absent' }, bytes: EMPTY, missing });
  try {
    let at = await open(workspace, O_RDONLY | O_DIRECTORY);
    handles.push(at);
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      // SECURITY: T-14 — name by name and through no link: where one was put meanwhile, nothing behind it is read or kept.
      const how = isLast ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK : O_RDONLY | O_NOFOLLOW | O_DIRECTORY;
      const next = await open(`/proc/self/fd/${at.fd}/${name}`, how).catch(absentOnly);
      if (next === undefined) return absent(directoriesFrom(names, index));
      handles.push(next);
      at = next;
    }
    const stat = await at.stat();
    if (!stat.isFile() || stat.size > MOST_BYTES) return undefined;
    const bytes = await readAtMost(at, MOST_BYTES);
    if (bytes === undefined) return undefined;
    const state = { kind: 'file', sha256: sha256Hex(bytes), sizeBytes: bytes.length, mode: stat.mode & 0o777 } as const;
    return { path, state, bytes, missing: [] };
  } finally {
    await Promise.all(handles.map((handle) => handle.close()));
  }
}

const EMPTY = new Uint8Array();
/** More than almost any file that an agent edits. */
const PIECE = 256 * 1024;

/** SECURITY: T-39 — undefined for what has grown beyond it since it was looked at: its agent writes it while it is read. */
async function readAtMost(file: FileHandle, most: number): Promise<Uint8Array | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(PIECE), 0, PIECE, length);
    if (bytesRead === 0) return Buffer.concat(pieces, length);
    length += bytesRead;
    if (length > most) return undefined;
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

function directoriesFrom(names: readonly string[], first: number): readonly string[] {
  return names.slice(first, -1).map((_, index) => names.slice(0, first + index + 1).join('/'));
}

function isSame(one: FileState, other: FileState): boolean {
  if (one.kind === 'absent' || other.kind === 'absent') return one.kind === other.kind;
  return one.sha256 === other.sha256 && one.mode === other.mode;
}

function absentOnly(error: unknown): undefined {
  if (Object(error).code === 'ENOENT') return undefined;
  throw error;
}

const nothing = (): undefined => undefined;
const yes = (): true => true;
