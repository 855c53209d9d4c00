import type { Clock, Logger } from '@palyra/primitives';
import { credentialHeaders } from './credential-headers.ts';
import { denial } from './denial.ts';
import type { AskAnswer, ConnectionAttempt, EgressCall } from './egress-call.ts';
import { EgressError } from './egress-error.ts';
import type { FetchRequest, FetchResult } from './fetch-request.ts';
import type { GateLink } from './gate-link.ts';
import type { Target } from './hosts/target.ts';
import { createLinkDoors } from './link-doors.ts';
import { isDoor } from './wire/door.ts';
import { bytesFrame, createFrameReader, type Frame, jsonFrame, PIECE_BYTES } from './wire/frames.ts';
import { type CallOrder, type FetchOrder, type FromProxy, readFromProxy, type ToProxy } from './wire/messages.ts';

export interface OpenedEgress<Gate extends GateLink = GateLink> {
  /** For the sandbox: `wayOut: { gate, label }`. */
  readonly gate: Gate;
  readonly label: string;
  /** PEM to be trusted inside the sandbox, when `terminate` names a host. */
  readonly caPem: string | undefined;
  /** As far as is known now. */
  attempts(): readonly ConnectionAttempt[];
  /** Ends every connection of the call; then all attempts are known. Closing twice is fine. */
  close(): Promise<readonly ConnectionAttempt[]>;
}

/** palyrad's end of the wire to one running proxy. */
export interface ProxyLink<Gate extends GateLink> {
  readonly gate: Gate;
  /** Throws `EgressError`. */
  open(order: CallOrder, call: EgressCall): Promise<OpenedEgress<Gate>>;
  fetch(label: string, order: FetchOrder, request: FetchRequest): Promise<FetchResult>;
}

interface OpenCall {
  readonly call: EgressCall;
  readonly attempts: Map<number, ConnectionAttempt>;
  opened(caPem: string | undefined): void;
  failed(error: EgressError): void;
  closed(): void;
}

interface OpenFetch {
  readonly label: string;
  readonly credential: EgressCall['credential'];
  readonly pieces: Uint8Array[];
  done(result: FetchResult): void;
  failed(error: EgressError): void;
}

type CredentialAsked = Extract<FromProxy, { say: 'credential' }>;

/** Opening and closing a call take it a moment, whatever else it does. */
const ANSWER_MS = 10_000;

interface LinkDeps {
  readonly logger: Logger;
  readonly clock: Clock;
}

export function createProxyLink<Gate extends GateLink>(gate: Gate, { logger, clock }: LinkDeps): ProxyLink<Gate> {
  const calls = new Map<string, OpenCall>();
  const fetches = new Map<number, OpenFetch>();
  const questions = new Map<number, AbortController>();
  let isGone = false;
  let lastFetch = 0;

  // A write that fails is the end of the proxy, which is told by `ended`.
  const say = (message: ToProxy): void => void gate.write(jsonFrame(message)).catch(() => {});
  const doors = createLinkDoors({ say, send: (bytes) => void gate.write(bytes).catch(() => {}) });

  function die(): void {
    if (isGone) return;
    isGone = true;
    for (const question of questions.values()) question.abort();
    for (const call of calls.values()) {
      call.failed(diedError());
      for (const attempt of openAttempts(call, clock.now())) hearAttempt(call, attempt);
      call.closed();
    }
    for (const fetch of fetches.values()) fetch.failed(diedError());
    doors.lost();
    calls.clear();
    fetches.clear();
  }

  async function ask(id: number, call: EgressCall, target: Target): Promise<void> {
    const withdrawn = new AbortController();
    questions.set(id, withdrawn);
    let answer: AskAnswer;
    try {
      answer = (await call.ask?.(target, withdrawn.signal)) ?? refusal(target);
    } catch (error) {
      // SECURITY: T-22 — no answer is a no.
      if (!withdrawn.signal.aborted) logger.warn({ error, host: target.host }, 'nobody could be asked about a host');
      answer = refusal(target);
    }
    questions.delete(id);
    say({ say: 'answer', id, answer });
  }

  /** SECURITY: T-24 — a request that has one of its own never gets that of its call, nor another request's. */
  async function bindingFor({ label, fetch, target }: CredentialAsked, call: EgressCall) {
    if (fetch === undefined) return call.credential?.(target);
    const own = fetches.get(fetch);
    if (own?.label !== label || own.credential === undefined) throw new Error('That request is not under way.');
    return own.credential(target);
  }

  async function giveCredential(asked: CredentialAsked, call: EgressCall): Promise<void> {
    const { host } = asked.target;
    const headers = await credentialHeaders(() => bindingFor(asked, call), { host, logger });
    say({ say: 'credential', id: asked.id, headers });
  }

  function hearAttempt({ attempts, call }: OpenCall, attempt: ConnectionAttempt): void {
    attempts.set(attempt.number, attempt);
    try {
      call.onAttempt?.(attempt);
    } catch (error) {
      // A fault of whoever listens is not the proxy's.
      logger.error({ error }, 'a connection attempt could not be told');
    }
  }

  /** SECURITY: T-39 — a proxy that does not answer is ended, or every call would wait for it beyond its own time. */
  async function answered<Answer>(promise: Promise<Answer>): Promise<Answer> {
    const came = new AbortController();
    const watch = async (): Promise<void> => {
      await clock.sleep(ANSWER_MS, came.signal);
      if (came.signal.aborted) return;
      logger.error({ ms: ANSWER_MS }, 'the egress proxy does not answer and is ended');
      die();
      void gate.close();
    };
    watch().catch(() => undefined);
    try {
      return await promise;
    } finally {
      came.abort('answered');
    }
  }

  function hearMessage(message: FromProxy): void {
    const open = 'label' in message ? calls.get(message.label) : undefined;
    switch (message.say) {
      case 'opened':
        open?.opened(message.caPem);
        return;
      case 'not_opened':
        open?.failed(new EgressError('egress.bad_call', message.message, { fix: 'Look at the settings of egress.' }));
        return;
      case 'closed':
        open?.closed();
        return;
      case 'ask':
        if (open !== undefined) void ask(message.id, open.call, message.target);
        return;
      case 'withdraw':
        questions.get(message.id)?.abort();
        return;
      case 'credential':
        if (open !== undefined) void giveCredential(message, open.call);
        return;
      case 'attempt':
        if (open !== undefined) hearAttempt(open, message.attempt);
        return;
      case 'fetched':
        hearFetched(message);
        return;
      case 'door':
        if (open !== undefined) doors.open(message.id, open.call);
        return;
      case 'door_taken':
      case 'door_end':
      case 'door_closed':
        doors.hear(message);
    }
  }

  function hearFetched({ id, end }: Extract<FromProxy, { say: 'fetched' }>): void {
    const fetch = fetches.get(id);
    fetches.delete(id);
    const body = Buffer.concat(fetch?.pieces ?? []);
    fetch?.done(end.kind === 'response' ? { ...end, body } : end);
  }

  function hear(frame: Frame): void {
    if (frame.kind === 'bytes') {
      if (isDoor(frame.id)) doors.hearBytes(frame.id, frame.bytes);
      else fetches.get(frame.id)?.pieces.push(frame.bytes);
      return;
    }
    const message = readFromProxy(frame.value);
    if (message === undefined) throw new Error('The proxy said what it cannot mean.');
    hearMessage(message);
  }

  const read = createFrameReader();
  gate.onOutput((bytes) => {
    if (isGone) return;
    try {
      for (const frame of read(bytes)) hear(frame);
    } catch (error) {
      // SECURITY: T-22 — a proxy that talks nonsense has been taken over, or is broken: it is ended, and its calls with it.
      logger.error({ error }, 'the egress proxy is not understood and is ended');
      die();
      void gate.close();
    }
  });
  gate.ended.then(die, die);

  return {
    gate,
    async open(order, call) {
      if (isGone) throw diedError();
      return answered(openCall(order, call));
    },
    fetch(label, order, { body = new Uint8Array(), signal, credential }) {
      if (isGone) return Promise.reject(diedError());
      lastFetch += 1;
      const id = lastFetch;
      return new Promise((resolve, reject) => {
        const abort = (): void => say({ say: 'abort', id });
        const settle = (): void => signal?.removeEventListener('abort', abort);
        fetches.set(id, {
          label,
          credential,
          pieces: [],
          done(result) {
            settle();
            resolve(result);
          },
          failed(error) {
            settle();
            reject(error);
          },
        });
        say({ say: 'fetch', id, label, request: order });
        for (let at = 0; at < body.length; at += PIECE_BYTES) {
          void gate.write(bytesFrame(id, body.subarray(at, at + PIECE_BYTES))).catch(() => {});
        }
        if (signal?.aborted) abort();
        else signal?.addEventListener('abort', abort);
      });
    },
  };

  function openCall(order: CallOrder, call: EgressCall): Promise<OpenedEgress<Gate>> {
    const { label } = order;
    if (calls.has(label)) return Promise.reject(new EgressError('egress.bad_call', 'This label is taken.'));
    // Before the label is taken: one that is too long is nobody's.
    const asked = jsonFrame({ say: 'open', call: order });
    const attempts = new Map<number, ConnectionAttempt>();
    const list = (): readonly ConnectionAttempt[] =>
      [...attempts.values()].toSorted((one, other) => one.number - other.number);
    const over = Promise.withResolvers<void>();
    return new Promise((resolve, reject) => {
      const close = async (): Promise<readonly ConnectionAttempt[]> => {
        if (calls.has(label)) say({ say: 'close', label });
        await answered(over.promise);
        return list();
      };
      calls.set(label, {
        call,
        attempts,
        opened: (caPem) => resolve({ gate, label, caPem, attempts: list, close }),
        failed(error) {
          calls.delete(label);
          reject(error);
        },
        closed() {
          calls.delete(label);
          over.resolve();
        },
      });
      gate.write(asked).catch(() => {});
    });
  }
}

/** What was under way when the proxy died ended then, and nobody knows more about it. */
function openAttempts({ attempts }: OpenCall, now: number): readonly ConnectionAttempt[] {
  const open = [...attempts.values()].filter(({ endedAt }) => endedAt === undefined);
  return open.map((attempt) => ({
    ...attempt,
    endedAt: now,
    denial: denial('egress.not_reached', attempt, { detail: 'the proxy ended' }),
  }));
}

function refusal(target: Target): AskAnswer {
  return { kind: 'denied', denial: denial('egress.denied', target) };
}

function diedError(): EgressError {
  return new EgressError('egress.gate_failed', 'The proxy has ended, and with it every connection.', {
    fix: 'Try again: it is started anew.',
  });
}
