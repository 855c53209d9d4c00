import { parseJson, sha256Hex } from '@palyra/primitives';
import type { ProtectedChange, Ran, RunResult, Sandbox } from '@palyra/sandbox';
import { createOutgoing, type Outgoing } from './outgoing.ts';
import { FILE_TOOL_ERRORS } from './worker/file-failure.ts';
import { blobFrame, createFrameReader, type Frame, jsonFrame } from './worker/frames.ts';
import type { WorkerOrder, WorkerReply, WorkerRequest } from './worker/protocol.ts';
import type { FileChanges } from './worker/tool-shapes.ts';
import type { WorkerLaunch } from './worker-launch.ts';

/** By what a request was served, as it was measured; for the attestation. */
export type Execution = Pick<Ran, 'executor' | 'enforcement' | 'facts'>;

export interface Blob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export interface Question {
  readonly request: WorkerRequest;
  /** Sent along. */
  readonly blobs: readonly Blob[];
  /** Old contents, one after the other, before anything is overwritten. When it fails nothing is. */
  keep(blob: Blob): Promise<void>;
  /** When all of them are kept. When it fails nothing is overwritten either. */
  prepare(changes: FileChanges): Promise<void>;
  /** Aborting ends the worker, unless it was told to go ahead: then it is left to finish until `deadline`. */
  readonly signal: AbortSignal;
  readonly deadline: AbortSignal;
}

type Prepared = Extract<WorkerReply, { kind: 'prepared' }>;
export type FinalReply = Extract<WorkerReply, { kind: 'done' | 'failed' }>;

export type Answer =
  | { readonly kind: 'answered'; readonly reply: FinalReply; readonly prepared: Prepared | undefined }
  /** The worker is gone. With `committing` files may have been changed. */
  | { readonly kind: 'lost'; readonly prepared: Prepared | undefined; readonly committing: boolean };

/** One process in its sandbox, for one request at a time. */
export interface FileWorker {
  readonly execution: Execution;
  /** What it has said so far, in bytes. */
  saidBytes(): number;
  isAlive(): boolean;
  /** Does not throw. */
  ask(question: Question): Promise<Answer>;
  /** Ends it, and waits until nothing of it runs. What the sandbox then found to be changed that must not be. */
  end(): Promise<readonly ProtectedChange[]>;
}

export type StartedWorker =
  | { readonly kind: 'started'; readonly worker: FileWorker }
  | { readonly kind: 'refused'; readonly message: string; readonly fix: string | undefined };

/** Asks for nothing but the worker's first word. Does not throw. */
export async function startFileWorker(sandbox: Sandbox, { command, profile }: WorkerLaunch): Promise<StartedWorker> {
  const planned = await sandbox.plan(command, profile);
  if (planned.kind === 'refused') return planned;
  const { executor, enforcement } = planned.plan;
  const kill = new AbortController();
  const outgoing = createOutgoing();
  const talk = createTalk({ outgoing, kill: () => kill.abort() });
  let facts: Execution['facts'];
  const ended = sandbox.run(command, profile, {
    input: outgoing.source,
    signal: kill.signal,
    onStart: (running) => (facts = running.facts),
    onOutput: (stream, bytes) => (stream === 'stdout' ? talk.hear(bytes) : undefined),
  });
  void ended.then(() => talk.lose());
  const begun = await Promise.race([talk.ready, ended]);
  if (begun !== 'ready') return notStarted(begun);
  return {
    kind: 'started',
    worker: {
      execution: { executor, enforcement, facts },
      saidBytes: talk.saidBytes,
      isAlive: talk.isAlive,
      ask: talk.ask,
      async end() {
        talk.lose();
        outgoing.end();
        kill.abort();
        const result = await ended;
        return 'protectedChanged' in result ? result.protectedChanged : [];
      },
    },
  };
}

function notStarted(result: RunResult): StartedWorker {
  if ('message' in result) return { kind: 'refused', message: result.message, fix: result.fix };
  const said = Buffer.from(result.output.stderr).toString('utf8').trim().split('\n').at(-1) ?? '';
  const message = `The file worker ended before it began (${result.kind}). ${said.slice(0, 200)}`.trim();
  return { kind: 'refused', message, fix: 'Run `palyra doctor` to see what this host enforces.' };
}

interface Talk {
  readonly ready: Promise<'ready'>;
  hear(bytes: Uint8Array): Promise<void>;
  ask: FileWorker['ask'];
  saidBytes(): number;
  isAlive(): boolean;
  lose(): void;
}

interface Open {
  readonly question: Question;
  prepared: Prepared | undefined;
  committing: boolean;
  isKept: boolean;
  settle(answer: Answer): void;
}

function createTalk({ outgoing, kill }: { readonly outgoing: Outgoing; kill(): void }): Talk {
  const reader = createFrameReader();
  const ready = Promise.withResolvers<'ready'>();
  let open: Open | undefined;
  let said = 0;
  let isGone = false;
  // Pieces may come while an earlier one is still being kept: they wait for their turn.
  let turn: Promise<void> = Promise.resolve();

  const lose = () => {
    isGone = true;
    if (open !== undefined) open.settle({ kind: 'lost', prepared: open.prepared, committing: open.committing });
    open = undefined;
  };
  const take = async (frame: Frame): Promise<void> => {
    if (frame.kind === 'blob') {
      if (open !== undefined && !(await isKept(open.question, frame))) open.isKept = false;
      return;
    }
    // SECURITY: T-57 — one reading of what the worker says, or none.
    const reply = asReply(parseJson(frame.payload, { maxLength: frame.payload.length }));
    if (reply.kind === 'hello') ready.resolve('ready');
    else if (open === undefined) throw new Error('The worker answers what nobody asked.');
    else if (reply.kind === 'prepared') await goOn(open, reply, outgoing);
    else {
      const { settle, prepared } = open;
      open = undefined;
      settle({ kind: 'answered', reply, prepared });
    }
  };
  return {
    ready: ready.promise,
    saidBytes: () => said,
    isAlive: () => !isGone,
    lose,
    hear(bytes) {
      said += bytes.length;
      // The sandbox keeps the buffer; frames are cut from a copy that stays as it is.
      const piece = Buffer.from(bytes);
      turn = turn.then(async () => {
        for (const frame of reader.push(piece)) await take(frame);
      });
      return turn;
    },
    ask: (question) =>
      new Promise((resolve) => {
        if (isGone || open !== undefined) {
          resolve({ kind: 'lost', prepared: undefined, committing: false });
          return;
        }
        const stop = () => {
          if (open === asked && (question.deadline.aborted || !asked.committing)) kill();
        };
        const settle = (answer: Answer) => {
          question.signal.removeEventListener('abort', stop);
          question.deadline.removeEventListener('abort', stop);
          resolve(answer);
        };
        const asked: Open = { question, prepared: undefined, committing: false, isKept: true, settle };
        open = asked;
        question.signal.addEventListener('abort', stop);
        question.deadline.addEventListener('abort', stop);
        outgoing.send(jsonFrame(question.request));
        for (const blob of question.blobs) outgoing.send(blobFrame(blob.sha256, blob.bytes));
        if (question.signal.aborted || question.deadline.aborted) stop();
      }),
  };
}

/** Throws when it is none of ours: then the worker is no longer ours either. */
function asReply(said: unknown): WorkerReply {
  const reply = said as WorkerReply;
  const isKnown = ['hello', 'prepared', 'done'].includes(reply.kind);
  if (isKnown || (reply.kind === 'failed' && Object.hasOwn(FILE_TOOL_ERRORS, reply.code))) return reply;
  throw new Error('The worker says something that no worker of ours says.');
}

/** SECURITY: T-32 — the word to overwrite is given only when all that was there is kept, and nobody has changed their mind. */
async function goOn(open: Open, reply: Prepared, outgoing: Outgoing): Promise<void> {
  const { signal, deadline } = open.question;
  open.prepared = reply;
  const isRecorded = open.isKept && (await isPrepared(open.question, reply));
  open.committing = isRecorded && !signal.aborted && !deadline.aborted;
  outgoing.send(jsonFrame({ order: open.committing ? 'commit' : 'abort' } satisfies WorkerOrder));
}

async function isPrepared({ prepare }: Question, { changes }: Prepared): Promise<boolean> {
  try {
    await prepare(changes);
    return true;
  } catch {
    return false;
  }
}

async function isKept({ keep }: Question, { sha256, bytes }: Blob): Promise<boolean> {
  if (sha256Hex(bytes) !== sha256) return false;
  try {
    await keep({ sha256, bytes });
    return true;
  } catch {
    return false;
  }
}
