import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, type JsonObject, type JsonValue, parseJson } from '@palyra/primitives';
import type { BlobStore, FileTools } from '../file-tools/create-file-tools.ts';
import type { FileChanges } from '../file-tools/worker/tool-shapes.ts';
import type { UndoOutput } from '../file-tools/worker/undo-changes.ts';
import { GatewayError } from '../gateway-error.ts';
import type { ChangeLog, RecordedChange } from './change-log.ts';
import { makePrivateDirectory, renameDurably, writeDurably } from './durable-file.ts';
import { absent, createKeptBlobs, type KeptBlobs } from './kept-blobs.ts';

export interface KeptChangesOptions {
  /** In Palyra's home, and in no workspace. */
  readonly directory: string;
  /** Of what one run may have kept; when it is used up its file tools change nothing more. */
  readonly bytesOfRun?: number;
}

export interface UndoRequest {
  readonly runId: string;
  /** Only what this call did; what others made of its files since counts as changed. */
  readonly callId?: string;
  readonly fileTools: Pick<FileTools, 'undo'>;
  /** `refuse`: stops at the first call one of whose files has changed since. `skip`: leaves such files as they are. */
  readonly conflicts?: 'refuse' | 'skip';
  readonly signal?: AbortSignal;
}

/** Newest call first, as they were undone. */
export interface UndoneCall {
  readonly callId: string;
  readonly restored: readonly string[];
  readonly conflicts: readonly string[];
}

export type UndoResult =
  | { readonly kind: 'undone'; readonly calls: readonly UndoneCall[] }
  /** Calls after this one are undone, it and those before are not. */
  | {
      readonly kind: 'stopped';
      readonly calls: readonly UndoneCall[];
      readonly at: string;
      readonly code: string;
      readonly message: string;
      readonly fix: string | undefined;
    };

/** Keeps what file tools overwrite, run by run, until it is forgotten. */
export interface KeptChanges extends ChangeLog {
  /** In the order in which they were made; those that were undone are not there. */
  changesOf(runId: string): Promise<readonly RecordedChange[]>;
  /** Puts files back, newest change first. What was undone is not undone twice. */
  undo(request: UndoRequest): Promise<UndoResult>;
  /** Removes the list of the run, and contents that no other run needs. */
  forget(runId: string): Promise<void>;
}

const BYTES_OF_RUN = 512 * 1024 * 1024;
const NAME = /^(?<at>\d{8})\.json$/;
const UNDONE = '.undone';

/** All methods reject with what the file system says when it refuses. */
export function createKeptChanges({ directory, bytesOfRun = BYTES_OF_RUN }: KeptChangesOptions): KeptChanges {
  const blobs = createKeptBlobs(join(directory, 'blobs'));
  const runs = join(directory, 'runs');
  const usedBy = new Map<string, number>();
  /** Kept for changes that are not written down yet. */
  const unrecorded = new Set<string>();
  // One after the other: the next number is the last one and one more.
  const inTurn = createQueue();
  // SECURITY: T-39 — apart: an undo waits for a worker, and whoever has one waits until something is kept.
  const undoing = createQueue();
  const listOf = (runId: string) => readList(join(runs, safeName(runId)));
  const reserve = async (runId: string, bytes: number) => {
    const used = usedBy.get(runId) ?? keptBytes(await listOf(runId));
    // SECURITY: T-17 — whoever overwrites large files again and again must not fill the operator's disk.
    if (used + bytes > bytesOfRun)
      throw new GatewayError('gateway.fault', 'The run has overwritten as much as is kept.');
    usedBy.set(runId, used + bytes);
  };
  return {
    blobsOf: (runId) => ({
      keep: ({ sha256, bytes }) =>
        inTurn(async () => {
          await reserve(safeName(runId), bytes.length);
          unrecorded.add(sha256);
          await blobs.keep(sha256, bytes);
        }),
      fetch: blobs.fetch,
    }),
    record: (change) =>
      inTurn(async () => {
        if (change.changes.files.length === 0) return;
        const own = join(runs, safeName(change.runId));
        await makePrivateDirectory(own);
        const next = (await numbersIn(own)).reduce((most, number) => Math.max(most, number), 0) + 1;
        const text = canonicalJson(change as unknown as JsonObject);
        await writeDurably(join(own, `${String(next).padStart(8, '0')}.json`), Buffer.from(text));
        for (const sha256 of digestsOf([change])) unrecorded.delete(sha256);
      }),
    changesOf: async (runId) => (await listOf(runId)).map(({ change }) => change),
    undo: (request) => undoing(async () => undo(await listOf(request.runId), request, blobs)),
    forget: (runId) =>
      undoing(() =>
        inTurn(async () => {
          const own = safeName(runId);
          const gone = digestsOf((await readList(join(runs, own), 'all')).map(({ change }) => change));
          await rm(join(runs, own), { recursive: true, force: true });
          usedBy.delete(runId);
          const others = await Promise.all((await namesIn(runs)).map((name) => readList(join(runs, name), 'all')));
          const needed = digestsOf(others.flat().map(({ change }) => change));
          for (const sha256 of gone) if (!needed.has(sha256) && !unrecorded.has(sha256)) await blobs.remove(sha256);
        }),
      ),
  };
}

type Queue = <Made>(act: () => Promise<Made>) => Promise<Made>;

function createQueue(): Queue {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const mine = last.then(act);
    last = mine.catch(() => {});
    return mine;
  };
}

interface Listed {
  readonly file: string;
  readonly change: RecordedChange;
}

async function undo(
  list: readonly Listed[],
  { callId: only, fileTools, conflicts = 'refuse', signal }: UndoRequest,
  kept: KeptBlobs,
): Promise<UndoResult> {
  const calls: UndoneCall[] = [];
  const blobs: BlobStore = { keep: ({ sha256, bytes }) => kept.keep(sha256, bytes), fetch: kept.fetch };
  const wanted = only === undefined ? list : list.filter(({ change }) => change.callId === only);
  for (const { file, change } of wanted.toReversed()) {
    const { callId, workspace, changes, temporary } = change;
    const allowProtected = changes.files.map(({ path }) => path);
    const result = await fileTools.undo(
      changes,
      { workspace, blobs, allowProtected, ...(signal === undefined ? {} : { signal }) },
      { conflicts, ...(temporary === undefined ? {} : { temporary }) },
    );
    if (result.kind === 'failed') {
      const { code, message, fix } = result;
      return { kind: 'stopped', calls, at: callId, code, message, fix };
    }
    const { restored, conflicts: left } = result.output as unknown as UndoOutput;
    calls.push({ callId, restored, conflicts: left });
    if (left.length === 0) await renameDurably(file, `${file}${UNDONE}`);
  }
  return { kind: 'undone', calls };
}

/** SECURITY: T-41 — a run's id is ours, and still no path is made of one that could lead elsewhere. */
function safeName(runId: string): string {
  if (/^[0-9A-Za-z_-]{1,64}$/.test(runId)) return runId;
  throw new GatewayError('gateway.fault', 'This is not the id of a run.');
}

async function readList(own: string, which: 'open' | 'all' = 'open'): Promise<readonly Listed[]> {
  const names = (await namesIn(own)).filter((name) => NAME.test(which === 'all' ? withoutMark(name) : name)).toSorted();
  const listed = names.map(async (name): Promise<readonly Listed[]> => {
    const file = join(own, name);
    const text = await readFile(file).catch(absent);
    // Undone since its name was read.
    if (text === undefined) return [];
    return [{ file, change: asChange(parseJson(text, { maxLength: 64 * 1024 * 1024 })) }];
  });
  return (await Promise.all(listed)).flat();
}

async function namesIn(own: string): Promise<readonly string[]> {
  return (await readdir(own).catch(absent)) ?? [];
}

async function numbersIn(own: string): Promise<readonly number[]> {
  return (await namesIn(own)).flatMap((name) => Number(NAME.exec(withoutMark(name))?.groups?.['at'] ?? []));
}

function withoutMark(name: string): string {
  return name.endsWith(UNDONE) ? name.slice(0, -UNDONE.length) : name;
}

/** It is ours and was written whole: anything else is a fault of the disk. */
function asChange(value: JsonValue): RecordedChange {
  const change = value as unknown as Partial<RecordedChange>;
  if (
    typeof change.callId === 'string' &&
    typeof change.workspace === 'string' &&
    Array.isArray(change.changes?.files)
  ) {
    return change as RecordedChange;
  }
  throw new GatewayError('gateway.fault', 'A list of changes is damaged.');
}

function keptBytes(list: readonly Listed[]): number {
  return list.flatMap(({ change }) => change.changes.files).reduce((sum, { before }) => sum + sizeOf(before), 0);
}

function sizeOf(before: FileChanges['files'][number]['before']): number {
  return before.kind === 'file' ? before.sizeBytes : 0;
}

/** Before, and after: that is what undoing overwrites. */
function digestsOf(changes: readonly RecordedChange[]): ReadonlySet<string> {
  const states = changes.flatMap(({ changes: { files } }) => files.flatMap(({ before, after }) => [before, after]));
  return new Set(states.flatMap((state) => (state.kind === 'file' ? [state.sha256] : [])));
}
