import { Worker } from 'node:worker_threads';
import type { Clock, Sha256Hex } from '@palyra/primitives';
import { bundledThread, entryUrl } from '@palyra/primitives/bare';
import type { AskedExplanation, DirectoryDiff } from './ask-policies.ts';
import type { CompiledDirectory, DirectorySource } from './compile-directory.ts';
import type { PolicyDiff } from './diff.ts';
import type { Explanation } from './explain.ts';
import { PolicyError, type PolicyErrorCode, type PolicyProblem } from './policy-error.ts';

export type ThreadTask =
  | ({ readonly kind: 'compile' } & DirectorySource)
  | { readonly kind: 'read'; readonly directory: string }
  | ({ readonly kind: 'diff' } & DirectoryDiff)
  | ({ readonly kind: 'explain' } & AskedExplanation);

export type ThreadAnswer =
  | { readonly kind: 'compiled'; readonly compiled: CompiledDirectory }
  | { readonly kind: 'read'; readonly sourceDigest: Sha256Hex }
  | { readonly kind: 'diff'; readonly diff: PolicyDiff }
  | { readonly kind: 'explained'; readonly explanation: Explanation }
  | { readonly kind: 'failed'; readonly error: PolicyErrorData };

/** Errors lose their class on the way between threads. */
interface PolicyErrorData {
  readonly code: PolicyErrorCode;
  readonly message: string;
  readonly fix: string | undefined;
  readonly problems: readonly PolicyProblem[];
}

/** The largest set takes a few seconds; a text made to take longer is refused. */
const LONGEST_MS = 120_000;

/** `compileDirectory` on a thread of its own. Throws `PolicyError`, also when the thread dies or takes too long. */
export async function compileOffLoop(source: DirectorySource, clock: Clock): Promise<CompiledDirectory> {
  const answer = await runThread({ kind: 'compile', ...source }, clock);
  if (answer.kind === 'compiled') return answer.compiled;
  throw unexpected();
}

/** What the directory holds now, without judging it. Throws as `readPolicyDirectory` does. */
export async function sourceDigestOffLoop(directory: string, clock: Clock): Promise<Sha256Hex> {
  const answer = await runThread({ kind: 'read', directory }, clock);
  if (answer.kind === 'read') return answer.sourceDigest;
  throw unexpected();
}

/** What a directory would newly allow, ask or deny. Throws as `compileOffLoop` does. */
export async function diffOffLoop(diff: DirectoryDiff, clock: Clock): Promise<PolicyDiff> {
  const answer = await runThread({ kind: 'diff', ...diff }, clock);
  if (answer.kind === 'diff') return answer.diff;
  throw unexpected();
}

/** `explain` of a request in the words of policy tests. Throws `policy.invalid_request`. */
export async function explainOffLoop(asked: AskedExplanation, clock: Clock): Promise<Explanation> {
  const answer = await runThread({ kind: 'explain', ...asked }, clock);
  if (answer.kind === 'explained') return answer.explanation;
  throw unexpected();
}

async function runThread(task: ThreadTask, clock: Clock): Promise<Exclude<ThreadAnswer, { kind: 'failed' }>> {
  const { entry } = bundledThread(entryUrl(import.meta.url, './compile-thread'));
  const worker = new Worker(entry, { workerData: task });
  const done = new AbortController();
  try {
    const answer = await Promise.race([answerOf(worker), tooLong(clock, done.signal)]);
    if (answer.kind !== 'failed') return answer;
    const { code, message, fix, problems } = answer.error;
    throw new PolicyError(code, message, { problems, ...(fix === undefined ? {} : { fix }) });
  } finally {
    done.abort();
    await worker.terminate();
  }
}

function answerOf(worker: Worker): Promise<ThreadAnswer> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    // SECURITY: T-09 — a thread that dies has answered nothing, and nothing is activated.
    worker.once('error', (cause) => reject(unexpected(cause)));
    worker.once('exit', () => reject(unexpected()));
  });
}

async function tooLong(clock: Clock, signal: AbortSignal): Promise<never> {
  try {
    await clock.sleep(LONGEST_MS, signal);
  } catch {
    // The answer was there first, and nobody waits for this any more.
  }
  throw new PolicyError('policy.too_large', `The policies take over ${LONGEST_MS / 1000} seconds to check.`, {
    fix: 'Make them fewer or simpler.',
  });
}

function unexpected(cause?: unknown): PolicyError {
  return new PolicyError('policy.invalid_policy_set', 'The policies could not be checked.', {
    fix: 'Look at the log of palyrad for the cause; the policies that were active still are.',
    cause,
  });
}
