import { type Clock, sha256Hex } from '@palyra/primitives';
import type { ProtectedChange, Refusal, Sandbox, SandboxProfile } from '@palyra/sandbox';
import { type FileWorker, startFileWorker } from './file-worker.ts';
import { createIdleWorkers, type IdleWorker } from './idle-workers.ts';
import { createTurns } from './turns.ts';
import { planWorkerLaunch, WORKER_OUTPUT_BYTES, type WorkerLaunch } from './worker-launch.ts';

export interface PoolLimits {
  /** At once, whatever they are for. */
  readonly workers: number;
  /** Requests that wait for one. */
  readonly waiting: number;
  /** How long one without a request is kept. */
  readonly idleMs: number;
  /** After so many it is replaced. */
  readonly requestsPerWorker: number;
}

export type Borrowed =
  /** One that may write is for one request: `giveBack` resolves when it is gone, with what the sandbox put back. */
  | { readonly kind: 'worker'; readonly worker: FileWorker; giveBack(): Promise<readonly ProtectedChange[]> }
  | { readonly kind: 'unavailable'; readonly message: string; readonly fix: string | undefined }
  | { readonly kind: 'busy' }
  | { readonly kind: 'closed' };

export interface WorkerPool {
  /** A worker in a box that is exactly the one that would be made now. Does not throw. */
  borrow(profile: SandboxProfile): Promise<Borrowed>;
  /** The same of those that wait already; undefined when none does. */
  borrowIdle(profile: SandboxProfile): Promise<Borrowed | undefined>;
  /** How many there are, idle ones included. */
  size(): number;
  close(): Promise<void>;
}

export interface PoolOptions {
  readonly sandbox: Sandbox;
  readonly limits: PoolLimits;
  readonly clock: Clock;
}

export function createWorkerPool({ sandbox, limits, clock }: PoolOptions): WorkerPool {
  const turns = createTurns({ atOnce: limits.workers, waiting: limits.waiting });
  const all = new Set<FileWorker>();
  const ending = new Set<Promise<unknown>>();
  let isClosed = false;

  const letGo = (worker: FileWorker): Promise<readonly ProtectedChange[]> => {
    all.delete(worker);
    const gone = worker.end().finally(() => ending.delete(gone));
    ending.add(gone);
    return gone;
  };
  const dismiss = (worker: FileWorker) => void letGo(worker);
  const idle = createIdleWorkers({ clock, idleMs: limits.idleMs, letGo: dismiss });
  const lend = ({ worker, key, served }: IdleWorker): Borrowed => ({
    kind: 'worker',
    worker,
    giveBack: once(() => {
      const isWornOut = served + 1 >= limits.requestsPerWorker || worker.saidBytes() > WORKER_OUTPUT_BYTES;
      if (isClosed || isWornOut || !worker.isAlive()) dismiss(worker);
      else idle.put({ worker, key, served: served + 1 });
      turns.giveBack();
      return Promise.resolve([]);
    }),
  });
  /**
   * The sandbox puts protected files back when a command ends that could write. One that stayed would undo what the operator
   * wrote meanwhile, and nobody would be told of a change that is put back later.
   */
  const lendOnce = (worker: FileWorker): Borrowed => ({
    kind: 'worker',
    worker,
    giveBack: once(() => letGo(worker).finally(() => turns.giveBack())),
  });
  const refuse = (answer: Borrowed): Borrowed => {
    turns.giveBack();
    return answer;
  };
  const start = async (launch: WorkerLaunch, key: string): Promise<Borrowed> => {
    const started = await startFileWorker(sandbox, launch);
    if (started.kind === 'refused') return refuse(unavailable(started));
    const { worker } = started;
    all.add(worker);
    const isReader = launch.profile.workspace.access === 'read-only';
    if (!isClosed) return isReader ? lend({ worker, key, served: 0 }) : lendOnce(worker);
    dismiss(worker);
    return refuse({ kind: 'closed' });
  };

  const takeIdle = (key: string): IdleWorker | undefined => {
    for (let entry = idle.take(key); entry !== undefined; entry = idle.take(key)) {
      if (entry.worker.isAlive()) return entry;
      dismiss(entry.worker);
    }
    return undefined;
  };

  return {
    size: () => all.size,
    async borrowIdle(profile) {
      const launch = planWorkerLaunch(profile);
      const box = launch === undefined ? undefined : await boxOf(sandbox, launch).catch(() => undefined);
      // Asked for last: whoever has a turn would keep others waiting.
      if (isClosed || box?.kind !== 'box' || !turns.takeFree()) return undefined;
      const entry = takeIdle(box.key);
      if (entry !== undefined) return lend(entry);
      turns.giveBack();
      return undefined;
    },
    async borrow(profile) {
      if (isClosed) return { kind: 'closed' };
      const launch = planWorkerLaunch(profile);
      if (launch === undefined) return NO_WALL;
      if (!(await turns.take())) return { kind: 'busy' };
      if (isClosed) return refuse({ kind: 'closed' });

      const box = await boxOf(sandbox, launch);
      if (box.kind === 'refused') return refuse(unavailable(box));
      if (isClosed) return refuse({ kind: 'closed' });
      const waiting = takeIdle(box.key);
      if (waiting !== undefined) return lend(waiting);
      // Idle ones of other workspaces make room.
      const stale = idle.count() + turns.taken() > limits.workers ? idle.take() : undefined;
      if (stale !== undefined) dismiss(stale.worker);
      return start(launch, box.key);
    },
    async close() {
      isClosed = true;
      turns.dismiss();
      idle.clear();
      for (const worker of all) dismiss(worker);
      await Promise.all(ending);
    },
  };
}

function once<Made>(act: () => Promise<Made>): () => Promise<Made> {
  let done: Promise<Made> | undefined;
  return () => {
    done ??= act();
    return done;
  };
}

const NO_WALL: Borrowed = {
  kind: 'unavailable',
  message: 'File tools work in Tier C only.',
  fix: 'Use Tier C for this workspace; `palyra doctor` says what it needs.',
};

function unavailable({ message, fix }: { readonly message: string; readonly fix: string | undefined }): Borrowed {
  return { kind: 'unavailable', message, fix };
}

type Box = { readonly kind: 'box'; readonly key: string } | Refusal;

/**
 * SECURITY: T-14 — a worker holds the directories that it was given. Where the workspace, a mask or a mount is another one
 * by now (another inode at the same path too), its box is not the one that was asked for, and it is not used again.
 */
async function boxOf(sandbox: Sandbox, { command, profile }: WorkerLaunch): Promise<Box> {
  const planned = await sandbox.plan(command, profile);
  if (planned.kind === 'refused') return planned;
  const { bound, mounts } = planned.plan.expected;
  const facts = JSON.stringify({ profile, bound, mounts: mounts ?? null });
  return { kind: 'box', key: sha256Hex(facts) };
}
