import { randomUUID } from 'node:crypto';
import { type Clock, systemClock } from '@palyra/primitives';
import type { Sandbox, SandboxProfile } from '@palyra/sandbox';
import { boxFor } from './box-for.ts';
import { whyInvalid } from './check-input.ts';
import { type FileToolResult, failed, resultOf } from './file-tool-result.ts';
import type { Blob, Execution } from './file-worker.ts';
import { PROTECTED_PATTERNS } from './protected-patterns.ts';
import { type ReadyWorker, readyWorker } from './ready-worker.ts';
import { settleLost } from './settle-lost.ts';
import { withoutPutBack } from './without-put-back.ts';
import { DEFAULT_FILE_LIMITS, type FileLimits } from './worker/limits.ts';
import { type AllowedProtected, createProtectedPaths, type ProtectedPattern } from './worker/protected-paths.ts';
import type { FileToolName, InspectOutput, WorkerRequest } from './worker/protocol.ts';
import type { FileChanges, FileState } from './worker/tool-shapes.ts';
import { createWorkerPool, type PoolLimits, type WorkerPool } from './worker-pool.ts';

/** Where contents go that are overwritten or deleted, and come back from. */
export interface BlobStore {
  /** Resolves when it is kept for good; rejects, and nothing is overwritten. */
  keep(blob: Blob): Promise<void>;
  fetch(sha256: string): Promise<Uint8Array | undefined>;
}

export interface FileToolContext {
  /** As `profileFor` knows it: the real path of a registered workspace. */
  readonly workspace: string;
  readonly blobs: BlobStore;
  /** Set only after an approval: everything, or exactly these files. Never from the caller's input, and everything only where nothing else runs in the workspace. */
  readonly allowProtected?: AllowedProtected;
  readonly signal?: AbortSignal;
  /** The worker that waits for this very call. */
  readonly ready?: ReadyWorker;
  /**
   * Told what will be changed when everything is kept, and how the names of temporary files begin, before anything is
   * changed; rejects, and nothing is.
   */
  onPrepared?(changes: FileChanges, temporary: string): Promise<void>;
}

export interface FileToolLimits extends FileLimits, PoolLimits {
  /** One request, waiting for a worker not counted. */
  readonly requestMs: number;
}

export interface UndoOptions {
  /** `skip`: what can be put back is, and the others are named. */
  readonly conflicts?: 'refuse' | 'skip';
  /** How the names of temporary files began when the change was made: those that are still there are removed. */
  readonly temporary?: string;
}

export type Inspection =
  | ({ readonly kind: 'inspected'; readonly execution: Execution | undefined } & InspectOutput)
  | Extract<FileToolResult, { kind: 'failed' }>;

/** The built-in tools for files. Every method answers with values and does not throw. */
export interface FileTools {
  run(tool: FileToolName, input: unknown, context: FileToolContext): Promise<FileToolResult>;
  /** Has an idle worker wait for a call that only reads; there may be none. Starts nothing. */
  makeReady(tool: FileToolName, workspace: string): ReadyWorker | undefined;
  /** Where the paths of a call really lead, and which of these files need an approval. Changes nothing. */
  inspect(tool: FileToolName, input: unknown, context: FileToolContext): Promise<Inspection>;
  /** Puts files back as they were, where they still are as they were left. */
  undo(changes: FileChanges, context: FileToolContext, options?: UndoOptions): Promise<FileToolResult>;
  close(): Promise<void>;
}

export interface FileToolsOptions {
  readonly sandbox: Sandbox;
  profileFor(workspace: string): SandboxProfile;
  readonly limits?: Partial<FileToolLimits>;
  readonly protectedPaths?: readonly ProtectedPattern[];
  readonly clock?: Clock;
}

const DEFAULT_FILE_TOOL_LIMITS: FileToolLimits = {
  ...DEFAULT_FILE_LIMITS,
  workers: 4,
  waiting: 64,
  idleMs: 60_000,
  requestsPerWorker: 1000,
  requestMs: 30_000,
};

interface Service {
  readonly options: FileToolsOptions;
  readonly limits: FileToolLimits;
  readonly patterns: readonly ProtectedPattern[];
  readonly clock: Clock;
  readonly pool: WorkerPool;
  /** Whether the sandbox would put it back. */
  runsLater(path: string): boolean;
}

/** Throws `FileFailure` for protected patterns that are malformed. */
export function createFileTools(options: FileToolsOptions): FileTools {
  const { sandbox, protectedPaths: patterns = PROTECTED_PATTERNS, clock = systemClock } = options;
  const paths = createProtectedPaths(patterns);
  const runsLater = (path: string) => paths.reasonFor(path, 'write') === 'protected';
  const limits = { ...DEFAULT_FILE_TOOL_LIMITS, ...options.limits };
  const pool = createWorkerPool({ sandbox, limits, clock });
  const service: Service = { options, limits, patterns, clock, pool, runsLater };
  return {
    async run(tool, input, context) {
      const problem = whyInvalid(tool, input);
      if (problem !== undefined) return failed('file.invalid_input', problem);
      return perform(service, context, { act: { kind: 'run', tool, input }, blobs: [] });
    },
    makeReady(tool, workspace) {
      const profile = boxFor(options.profileFor(workspace), { kind: 'run', tool, input: undefined }, false);
      return profile.workspace.access === 'read-only' ? readyWorker(profile, service) : undefined;
    },
    async inspect(tool, input, context) {
      const problem = whyInvalid(tool, input);
      if (problem !== undefined) return failed('file.invalid_input', problem);
      const result = await perform(service, context, { act: { kind: 'inspect', tool, input }, blobs: [] });
      if (result.kind === 'failed') return result;
      return { kind: 'inspected', ...(result.output as unknown as InspectOutput), execution: result.execution };
    },
    async undo(changes, context, { conflicts = 'refuse', temporary } = {}) {
      const blobs = await fetchBefore(changes, context.blobs);
      return perform(service, context, {
        act: { kind: 'undo', changes, conflicts, ...(temporary === undefined ? {} : { temporary }) },
        blobs,
      });
    },
    close: () => pool.close(),
  };
}

interface Work {
  readonly act: WorkerRequest['act'];
  readonly blobs: readonly Blob[];
  /** It looks after another one, and nobody looks after it: workers that always die must not keep us here. */
  readonly isLast?: boolean;
}

async function perform(service: Service, context: FileToolContext, work: Work): Promise<FileToolResult> {
  const { pool, limits, patterns, clock, options } = service;
  const { signal = NEVER, blobs, allowProtected = false } = context;
  if (signal.aborted) return failed('file.cancelled');
  const opened = typeof allowProtected === 'boolean' ? allowProtected : allowProtected.filter(service.runsLater);
  const box = boxFor(options.profileFor(context.workspace), work.act, opened);
  const borrowed = (await context.ready?.take(box)) ?? (await pool.borrow(box));
  if (borrowed.kind !== 'worker') return notBorrowed(borrowed);
  const { worker, giveBack } = borrowed;
  if (signal.aborted) {
    await giveBack();
    return failed('file.cancelled');
  }
  const temporary = `.palyra-${randomUUID()}`;
  const { act } = work;
  const request = { act, temporary, blobs: work.blobs.length, limits: fileLimits(limits), patterns, allowProtected };
  const over = startTimer(clock, limits.requestMs);
  const answer = await worker.ask({
    request,
    blobs: work.blobs,
    keep: (blob) => blobs.keep(blob),
    prepare: async (changes) => context.onPrepared?.(changes, temporary),
    signal,
    deadline: over.signal,
  });
  over.stop();
  const putBack = await giveBack();
  if (answer.kind === 'answered') {
    const result = resultOf(answer.reply, answer.prepared?.changes, worker.execution);
    return putBack.length === 0 ? result : withoutPutBack(result, putBack, context.workspace);
  }

  const why = signal.aborted ? 'file.cancelled' : over.signal.aborted ? 'file.timed_out' : 'file.worker_failed';
  if (!answer.committing || answer.prepared === undefined) return { ...failed(why), execution: worker.execution };
  const lost = { ...answer.prepared, temporary, execution: worker.execution };
  if (work.isLast === true)
    return { ...failed(why), effect: 'unknown', changes: lost.changes, execution: lost.execution };
  // The word to go ahead was given, so files may be changed: another worker looks.
  return settleLost({
    why,
    lost,
    ask: (next, more) => perform(service, afterwards(context), { act: next, blobs: more, isLast: true }),
    fetch: (changes) => fetchBefore(changes, blobs),
  });
}

const NEVER = new AbortController().signal;

/** What is put back was approved when it was changed, and whoever cancelled wants it back. */
function afterwards({ workspace, blobs, allowProtected = false }: FileToolContext): FileToolContext {
  return { workspace, blobs, allowProtected };
}

function notBorrowed(borrowed: Exclude<Awaited<ReturnType<WorkerPool['borrow']>>, { kind: 'worker' }>): FileToolResult {
  switch (borrowed.kind) {
    case 'busy':
      return failed('file.busy', undefined, 'Try again when others have ended.');
    case 'closed':
      return failed('file.cancelled', 'The file tools are closed.');
    case 'unavailable':
      return failed('file.unavailable', borrowed.message, borrowed.fix);
  }
}

function startTimer(clock: Clock, ms: number): { readonly signal: AbortSignal; stop(): void } {
  const [over, stopped] = [new AbortController(), new AbortController()];
  clock.sleep(ms, stopped.signal).then(
    () => over.abort(),
    () => {},
  );
  // With a word, or an exception with its stack is made of it, for nobody.
  return { signal: over.signal, stop: () => stopped.abort('over') };
}

/** Only what the worker knows of. */
function fileLimits(limits: FileToolLimits): FileLimits {
  const names = Object.keys(DEFAULT_FILE_LIMITS) as (keyof FileLimits)[];
  return Object.fromEntries(names.map((name) => [name, limits[name]])) as unknown as FileLimits;
}

/** Those that are not there any more are missed by the worker, which then says of which file. */
async function fetchBefore({ files }: FileChanges, blobs: BlobStore): Promise<readonly Blob[]> {
  const digests = new Set(files.flatMap(({ before }) => digestOf(before) ?? []));
  const fetched: Blob[] = [];
  for (const sha256 of digests) {
    const bytes = await blobs.fetch(sha256).catch(() => undefined);
    if (bytes !== undefined) fetched.push({ sha256, bytes });
  }
  return fetched;
}

function digestOf(state: FileState): string | undefined {
  return state.kind === 'file' ? state.sha256 : undefined;
}
