import { BUBBLEWRAP_EXECUTOR } from '../backends/bubblewrap/plan.ts';
import { LIMITS_EXECUTOR } from '../backends/limits/plan.ts';
import type { MeasuredFacts } from '../facts/measured-facts.ts';
import type { InputSource } from '../feed-input.ts';
import { launcherGone } from '../job-outcome.ts';
import { terminalSize } from '../launcher/encode-request.ts';
import type { Frame } from '../launcher/wire.ts';
import type { RunOptions } from '../run-job.ts';
import type { RunResult } from '../run-result.ts';
import { SandboxError } from '../sandbox-error.ts';
import { asError, FROM_HOST, type HostFault, type RunQuestion, TO_HOST } from './host-messages.ts';
import { decodeValue, encodeValue } from './plain-values.ts';
import type { Asked } from './reach-sandbox.ts';

type Say = (kind: number, payload?: Uint8Array) => void;

export type FollowedRun = Pick<RunQuestion, 'command' | 'profile' | 'wayOut'>;

/** A command that another process runs for us: its input from here, its output to here. Does not throw. */
export function followRun(question: FollowedRun, options: RunOptions, open: (each: Asked) => Say): Promise<RunResult> {
  const { signal, bound, onOutput } = options;
  let startedAt = Date.now();
  let isHeld = options.mayBegin !== undefined;
  const input = options.input === undefined ? undefined : piecesOf(options.input);
  let facts: MeasuredFacts | undefined;

  return new Promise((resolve) => {
    const cancel = () => say(TO_HOST.cancel);
    const finish = (result: RunResult) => {
      signal?.removeEventListener('abort', cancel);
      input?.stop();
      resolve(result);
    };
    // SECURITY: T-32 — what was not let go has not run; of everything else nobody knows.
    const unanswered = (fault: unknown) =>
      finish(isHeld && fault instanceof SandboxError ? launcherGone(fault) : lostRun(question, facts, startedAt));
    const begin = (measured: MeasuredFacts) => {
      facts = measured;
      options.onStart?.({
        facts: measured,
        resize: (rows, columns) => say(TO_HOST.resize, terminalSize(rows, columns)),
        signal: (name) => say(TO_HOST.signal, Buffer.from(name)),
      });
    };
    const consume = async (stream: 'stdout' | 'stderr', bytes: Uint8Array) => {
      await onOutput?.(stream, bytes);
      say(TO_HOST.taken);
    };
    const hear = ({ kind, payload }: Frame) => {
      if (kind === FROM_HOST.answer) finish(decodeValue(payload) as RunResult);
      else if (kind === FROM_HOST.fault) unanswered(asError(decodeValue(payload) as HostFault));
      else if (kind === FROM_HOST.want) void input?.sendNext(say);
      // A caller that throws wants no more of it.
      else if (kind === FROM_HOST.started) attempt(() => begin(decodeValue(payload) as MeasuredFacts), cancel);
      else if (kind === FROM_HOST.ended) attempt(() => options.onEnd?.(), ignored);
      else if (kind === FROM_HOST.stdout) consume('stdout', payload).catch(cancel);
      else if (kind === FROM_HOST.stderr) consume('stderr', payload).catch(cancel);
    };
    const say = open({ hear, lose: unanswered });
    const asked: RunQuestion = {
      ...question,
      hasInput: input !== undefined,
      isHeard: onOutput !== undefined,
      isCancelled: signal?.aborted === true,
      ...(bound === undefined ? {} : { bound }),
      ...(options.kept === undefined ? {} : { kept: options.kept }),
      ...(options.mayBegin === undefined ? {} : { isHeld: true }),
    };
    const letGo = () => {
      isHeld = false;
      startedAt = Date.now();
      say(TO_HOST.letGo);
    };
    signal?.addEventListener('abort', cancel, { once: true });
    say(TO_HOST.run, encodeValue(asked));
    // Not cancelled: whoever asked is told that nothing has begun, and may ask again.
    options.mayBegin?.then(letGo, () => say(TO_HOST.notLetGo));
  });
}

interface Pieces {
  sendNext(say: Say): Promise<void>;
  stop(): void;
}

function piecesOf(source: InputSource): Pieces {
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let isOver = false;
  return {
    async sendNext(say) {
      try {
        const { done = false, value } = await iterator.next();
        if (isOver) return;
        if (done) say(TO_HOST.inputEnd);
        else say(TO_HOST.input, value);
      } catch {
        say(TO_HOST.inputFailed);
      }
    },
    stop() {
      isOver = true;
      // One that waits for its own next piece is left waiting, as it would be here.
      Promise.resolve(iterator.return?.()).catch(() => {});
    },
  };
}

/** SECURITY: T-32 — asked for and not answered: nobody may be told that it has not run. */
function lostRun({ profile }: FollowedRun, facts: MeasuredFacts | undefined, startedAt: number): RunResult {
  const seen = profile.tier === 'C' ? 'isolated' : 'host';
  const isOpen = profile.tier === 'C' && profile.egress.mode !== 'strict';
  return {
    kind: 'lost',
    executor: profile.tier === 'C' ? BUBBLEWRAP_EXECUTOR : LIMITS_EXECUTOR,
    enforcement: { fileSystem: seen, network: isOpen ? 'open' : seen },
    output: { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) },
    usage: { wallMs: 0, userMs: 0, systemMs: 0, maxRssBytes: 0, outputBytes: 0 },
    facts,
    pooled: false,
    protectedChanged: [],
    startedAt,
    endedAt: Date.now(),
  };
}

function ignored(): void {}

function attempt(act: () => void, otherwise: () => void): void {
  try {
    act();
  } catch {
    otherwise();
  }
}
