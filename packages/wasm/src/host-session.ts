import { createFrameReader, type Frame } from './host/frames.ts';
import {
  type AskMessage,
  answerFrame,
  callFrame,
  FROM_HOST,
  GUEST_ENDS,
  type GuestSettings,
  HELLO,
  type LoadedMessage,
  loadFrame,
  type ResultMessage,
  readAsk,
  readResult,
} from './host/messages.ts';
import type { HostEnd, HostProcess, StartHost } from './host-process.ts';

export interface HostAnswer {
  /** Not negative is success; see `ANSWER`. */
  readonly status: number;
  readonly body: Uint8Array;
}

/** One call as a host is given it. */
export interface HostedCall {
  readonly handle: bigint;
  readonly fuel: bigint;
  readonly args: readonly string[];
  readonly input: Uint8Array;
  /** One that throws ends the host. */
  answer(ask: AskMessage): Promise<HostAnswer>;
  /** Its turn has come: from here on its time counts. */
  begun(): void;
  /** Once. */
  ended(how: HostedEnd): void;
}

export type HostedEnd =
  | { readonly kind: 'result'; readonly result: ResultMessage }
  /** The host is gone and the call was under way. */
  | { readonly kind: 'lost'; readonly end: HostEnd }
  /** The host is gone before the call began: another host may have it. */
  | { readonly kind: 'not_begun' };

/** One host process, one module in it, and the calls that wait for it in order. */
export interface HostSession<About> {
  readonly about: About;
  send(call: HostedCall): void;
  /** Calls that it has and has not answered. */
  readonly inFlight: number;
  readonly served: number;
  /** What it has said, in bytes. */
  readonly said: number;
  readonly isAlive: boolean;
  /** Ends it; calls that have begun are lost. */
  end(): Promise<void>;
}

export type OpenedSession<About> =
  | { readonly kind: 'open'; readonly session: HostSession<About> }
  | { readonly kind: 'refused'; readonly loaded: Extract<LoadedMessage, { kind: 'refused' }> }
  | {
      readonly kind: 'unavailable';
      readonly message: string;
      readonly fix: string | undefined;
      readonly end?: HostEnd;
    };

export interface SessionOptions<About> {
  readonly startHost: StartHost<About>;
  readonly module: Uint8Array;
  readonly settings: GuestSettings;
  readonly memoryBytes: number;
  /** Aborted: it is no longer wanted, or compiling takes too long. */
  readonly signal: AbortSignal;
  /** Told when it is gone. */
  onGone(): void;
}

/** More than this no answer is: its output, its log and a sentence. */
const BESIDE_OUTPUT = 64 * 1024;
const MOST_SENTENCE = 4096;
const MOST_QUESTION = 4 * 1024 * 1024;

/** Starts a host and gives it its module. Does not throw. */
export async function openSession<About>(options: SessionOptions<About>): Promise<OpenedSession<About>> {
  const { settings } = options;
  const most = Math.max(settings.outputBytes + settings.logBytes + BESIDE_OUTPUT, MOST_QUESTION);
  const reader = createFrameReader(most);
  const loaded = Promise.withResolvers<LoadedMessage>();
  const waiting: Talk['waiting'] = [];
  const talk: Talk = {
    waiting,
    hasGreeted: false,
    hasLoaded: false,
    served: 0,
    said: 0,
    lastId: 0,
    isGone: false,
    isAsking: false,
    settings,
  };
  let host: HostProcess<About> | undefined;
  const hear = (frame: Frame): void => {
    if (!talk.hasGreeted) greet(talk, frame);
    else if (frame.type === FROM_HOST.loaded && !talk.hasLoaded) {
      talk.hasLoaded = true;
      loaded.resolve(readLoaded(frame.body));
    } else if (frame.type === FROM_HOST.result) takeResult(talk, frame.body);
    else if (frame.type === FROM_HOST.ask) {
      answer(talk, readAsk(frame.body)).then(
        (bytes) => host?.write(bytes),
        () => {
          talk.isGone = true;
          host?.kill();
        },
      );
    } else throw new Error('A host says something that no host of ours says.');
  };
  const started = await options.startHost({
    memoryBytes: options.memoryBytes,
    onOutput(bytes) {
      if (talk.isGone) return;
      talk.said += bytes.length;
      try {
        if (isUnasked(talk)) throw new Error('A host speaks when nobody has asked it.');
        reader.push(bytes, hear);
        if (isUnasked(talk) && reader.isWithin) throw new Error('A host says more than it was asked.');
      } catch {
        // SECURITY: T-56 — a host that does not keep to the language is not ours any more: nothing else of it is heard.
        talk.isGone = true;
        host?.kill();
      }
    },
  });
  if (started.kind === 'refused') return { kind: 'unavailable', message: started.message, fix: started.fix };
  host = started.host;
  const { ended, about } = host;
  const kill = () => host?.kill();
  const gone = ended.then((end) => lose(talk, end));
  if (options.signal.aborted) kill();
  options.signal.addEventListener('abort', kill, { once: true });
  host.write(loadFrame(settings, options.module));
  const first = await Promise.race([loaded.promise, ended]);
  options.signal.removeEventListener('abort', kill);
  if (!('kind' in first)) return { kind: 'unavailable', message: first.message, fix: DOCTOR, end: first };
  if (first.kind === 'refused') {
    kill();
    await gone;
    return { kind: 'refused', loaded: first };
  }
  void gone.then(options.onGone);
  return {
    kind: 'open',
    session: {
      about,
      send(call) {
        talk.lastId += 1;
        const id = talk.lastId;
        waiting.push({ id, call });
        if (waiting.length === 1) call.begun();
        if (talk.isGone) return;
        host?.write(callFrame({ id, ...call }));
      },
      get inFlight() {
        return waiting.length;
      },
      get served() {
        return talk.served;
      },
      get said() {
        return talk.said;
      },
      get isAlive() {
        return !talk.isGone;
      },
      async end() {
        talk.isGone = true;
        kill();
        await gone;
      },
    },
  };
}

const DOCTOR = 'Run `palyra doctor` to see what this host enforces.';

interface Talk {
  readonly waiting: { readonly id: number; readonly call: HostedCall }[];
  hasGreeted: boolean;
  hasLoaded: boolean;
  served: number;
  said: number;
  lastId: number;
  isGone: boolean;
  /** One question at a time, and no end before its answer. */
  isAsking: boolean;
  readonly settings: GuestSettings;
}

/** SECURITY: T-56, T-39 — between two calls there is no clock that would end it: not a byte is heard then. */
function isUnasked({ hasLoaded, waiting }: Talk): boolean {
  return hasLoaded && waiting.length === 0;
}

function greet(talk: Talk, { type, body }: Frame): void {
  if (type !== FROM_HOST.hello || !HELLO.subarray(5).equals(body)) throw new Error('That is no host of ours.');
  talk.hasGreeted = true;
}

function readLoaded(body: Buffer): LoadedMessage {
  const said = JSON.parse(body.toString()) as LoadedMessage;
  if (said.kind === 'ready') return said;
  const isRefusal = said.kind === 'refused' && GUEST_ENDS.includes(said.end) && said.end !== 'completed';
  if (isRefusal && typeof said.message === 'string') return { ...said, message: said.message.slice(0, MOST_SENTENCE) };
  throw new Error('No host loads like that.');
}

/** SECURITY: T-56 — calls are answered in order: an answer to another one than the first is none. */
function takeResult(talk: Talk, body: Buffer): void {
  const result = readResult(body);
  const head = talk.waiting[0];
  if (head === undefined || head.id !== result.id) throw new Error('A host answers what it was not asked.');
  const { outputBytes, logBytes, hostCalls } = talk.settings;
  const isWithin =
    result.output.length <= outputBytes &&
    result.log.length <= logBytes &&
    result.message.length <= MOST_SENTENCE &&
    result.hostCalls <= hostCalls + 1;
  if (talk.isAsking || !isWithin) throw new Error('A host ends as no host of ours does.');
  if (result.fuelUsed > head.call.fuel) throw new Error('A host has used what it was not given.');
  talk.waiting.shift();
  talk.served += 1;
  // In this order: who is told may give this host another call, which then begins by itself.
  talk.waiting[0]?.call.begun();
  head.call.ended({ kind: 'result', result });
}

/** SECURITY: T-27, T-56 — a question counts only from the call that is under way, with the handle that palyrad gave it. */
async function answer(talk: Talk, ask: AskMessage): Promise<Buffer> {
  const head = talk.waiting[0];
  if (head === undefined || head.id !== ask.id || head.call.handle !== ask.handle) {
    throw new Error('A host asks on behalf of a call that is not under way.');
  }
  if (talk.isAsking) throw new Error('A host asks before it was answered.');
  talk.isAsking = true;
  // The bytes are of a buffer that is reused when this function has returned.
  const { status, body } = await head.call.answer({ ...ask, body: Buffer.from(ask.body) });
  talk.isAsking = false;
  return answerFrame({ id: ask.id, number: ask.number, status, body });
}

function lose(talk: Talk, end: HostEnd): void {
  talk.isGone = true;
  const [head, ...others] = talk.waiting.splice(0);
  head?.call.ended({ kind: 'lost', end });
  for (const { call } of others) call.ended({ kind: 'not_begun' });
}
