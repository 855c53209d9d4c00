import type { Duplex } from 'node:stream';
import type { Sandbox } from '../create-sandbox.ts';
import type { Gate, GateProgram } from '../gate.ts';
import { gateClosed } from '../job-outcome.ts';
import { isPassedSignal } from '../launcher/passed-signals.ts';
import { encodeFrame, type Frame } from '../launcher/wire.ts';
import type { Running } from '../run-job.ts';
import type { RunResult } from '../run-result.ts';
import { FROM_HOST, faultOf, type Question, type RunQuestion, TO_HOST } from './host-messages.ts';
import { decodeValue, encodeValue } from './plain-values.ts';
import { createPulledInput, type PulledInput } from './pulled-input.ts';
import { type ServedGate, serveGate } from './serve-gate.ts';

export interface SandboxServer {
  hear(frame: Frame): void;
  /** Resolves when nobody asks any more and everything that ran has ended. */
  readonly over: Promise<void>;
}

/** Answers questions about a sandbox that come through a channel, until that is closed. */
export function serveSandbox(sandbox: Sandbox, channel: Duplex): SandboxServer {
  const runs = new Map<number, ServedRun>();
  const gates = new Map<number, ServedGate>();
  const say: Say = (kind, id, payload) => {
    if (channel.writable) channel.write(encodeFrame(kind, id, payload));
  };
  const answer = (id: number, value: Promise<unknown>): Promise<void> =>
    value.then(encodeValue).then(
      (known) => say(FROM_HOST.answer, id, known),
      // Also of what cannot be told, more output than a text can hold for example: whoever asked waits for a word.
      (error: unknown) => say(FROM_HOST.fault, id, encodeValue(faultOf(error))),
    );
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= sandbox.close().then(() => void channel.end());
    return closing;
  };

  const ask = (kind: AskingKind, id: number, question: Question | RunQuestion): Promise<void> => {
    const { command, profile, wayOut } = question;
    if (typeof wayOut !== 'object') {
      const options = wayOut === undefined ? {} : { wayOut };
      if (kind === TO_HOST.plan) return answer(id, sandbox.plan(command, profile, options));
      if (kind === TO_HOST.bind) return answer(id, sandbox.bind(command, profile, options));
    }
    const gate = typeof wayOut === 'object' ? gates.get(wayOut.gate)?.gate : undefined;
    // SECURITY: T-22 — asked for with a way out: never without one instead.
    if (typeof wayOut === 'object' && gate === undefined) return answer(id, Promise.resolve(gateClosed()));
    const run = serveRun(sandbox, question as RunQuestion, { say, id, gate });
    runs.set(id, run);
    return answer(id, run.result).finally(() => runs.delete(id));
  };
  const openGate = (id: number, program: GateProgram): Promise<void> => {
    const served = serveGate(sandbox, program, (kind, payload) => say(kind, id, payload));
    gates.set(id, served);
    return answer(id, served.ended).finally(() => gates.delete(id));
  };
  return {
    hear(frame) {
      const { kind, job: id, payload } = frame;
      if (kind === TO_HOST.openGate) void openGate(id, decodeValue(payload) as GateProgram);
      else if (isAsking(kind)) void ask(kind, id, decodeValue(payload) as Question);
      else if (kind === TO_HOST.warmed) void answer(id, sandbox.warmed());
      else if (kind === TO_HOST.close) void close();
      else (runs.get(id) ?? gates.get(id))?.hear(frame);
    },
    // SECURITY: T-16 — also when it ends by an error, as it does when palyrad is killed before it heard all that was said.
    over: new Promise<void>((resolve) => channel.once('close', resolve)).then(close),
  };
}

type AskingKind = (typeof TO_HOST)['plan' | 'bind' | 'run'];

function isAsking(kind: number): kind is AskingKind {
  return kind === TO_HOST.plan || kind === TO_HOST.bind || kind === TO_HOST.run;
}

type Say = (kind: number, id: number, payload?: Uint8Array) => void;

interface ServedRun {
  readonly result: Promise<RunResult>;
  hear(frame: Frame): void;
}

interface RunContext {
  readonly say: Say;
  readonly id: number;
  readonly gate: Gate | undefined;
}

function serveRun(sandbox: Sandbox, question: RunQuestion, { say, id, gate }: RunContext): ServedRun {
  const { command, profile, hasInput, isHeard, isCancelled, bound, wayOut, kept, isHeld } = question;
  const abort = new AbortController();
  if (isCancelled) abort.abort();
  const input: PulledInput | undefined = hasInput ? createPulledInput(() => say(FROM_HOST.want, id)) : undefined;
  const untaken: (() => void)[] = [];
  const held = Promise.withResolvers<void>();
  let running: Running | undefined;

  const onOutput = (stream: 'stdout' | 'stderr', bytes: Uint8Array) => {
    say(FROM_HOST[stream], id, bytes);
    return new Promise<void>((resolve) => untaken.push(resolve));
  };
  const result = sandbox.run(command, profile, {
    signal: abort.signal,
    // SECURITY: T-32 — said before the word is given: whoever hears of no start and no end knows that it may have run.
    onStart(started) {
      running = started;
      say(FROM_HOST.started, id, encodeValue(started.facts));
    },
    ...(wayOut === undefined ? {} : { onEnd: () => say(FROM_HOST.ended, id) }),
    ...(isHeard ? { onOutput } : {}),
    ...(input === undefined ? {} : { input: input.source }),
    ...(bound === undefined ? {} : { bound }),
    ...(kept === undefined ? {} : { kept }),
    ...(isHeld === undefined ? {} : { mayBegin: held.promise }),
    ...(wayOut === undefined || gate === undefined ? {} : { wayOut: { ...wayOut, gate } }),
  });
  return {
    result,
    hear({ kind, payload }) {
      if (kind === TO_HOST.taken) untaken.shift()?.();
      else if (kind === TO_HOST.cancel) abort.abort();
      else if (kind === TO_HOST.letGo) held.resolve();
      else if (kind === TO_HOST.notLetGo) held.reject(new Error('It may not begin.'));
      else if (kind === TO_HOST.resize) running?.resize(payload.readUInt16LE(0), payload.readUInt16LE(2));
      else if (kind === TO_HOST.signal) passOn(payload.toString(), running);
      else if (kind === TO_HOST.input) input?.give(payload);
      else if (kind === TO_HOST.inputEnd) input?.end();
      else if (kind === TO_HOST.inputFailed) input?.fail();
    },
  };
}

function passOn(name: string, running: Running | undefined): void {
  if (isPassedSignal(name)) running?.signal(name);
}
