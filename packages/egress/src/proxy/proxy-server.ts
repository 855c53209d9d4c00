import type { Server, Socket } from 'node:net';
import { denial } from '../denial.ts';
import type { AskAnswer } from '../egress-call.ts';
import { EgressError } from '../egress-error.ts';
import type { Target } from '../hosts/target.ts';
import { isDoor } from '../wire/door.ts';
import { bytesFrame, type Frame, jsonFrame, PIECE_BYTES } from '../wire/frames.ts';
import type { CallOrder, FromProxy, HeaderPairs, ToProxy } from '../wire/messages.ts';
import { type CallSession, createCallSession } from './call-session.ts';
import { fetchUrl } from './fetch-url.ts';
import { createPendingAnswers } from './pending-answers.ts';
import { type ConnectionDeps, serveConnection } from './serve-connection.ts';
import { createDoors } from './serve-door.ts';

/** The proxy behind its wire: orders in, news out, listeners from the side. */
export interface ProxyServer {
  /** Throws when what is said makes no sense: then palyrad is not palyrad. */
  hear(frame: Frame): void;
  /** Connections that come in here are the call's with that label. One of no call is closed at once. */
  takeListener(label: string, server: Server): void;
  close(): void;
}

export interface ProxyServerDeps extends ConnectionDeps {
  send(bytes: Uint8Array): void;
  now(): number;
}

interface Call {
  readonly session: CallSession;
  readonly listeners: Set<Server>;
}

interface Fetching {
  readonly order: Extract<ToProxy, { say: 'fetch' }>;
  readonly abort: AbortController;
  readonly body: Uint8Array[];
  received: number;
}

export function createProxyServer(deps: ProxyServerDeps): ProxyServer {
  const calls = new Map<string, Call>();
  const answers = createPendingAnswers<AskAnswer>();
  const credentials = createPendingAnswers<HeaderPairs>();
  const fetches = new Map<number, Fetching>();
  const say = (message: FromProxy): void => deps.send(jsonFrame(message));
  const doors = createDoors({ send: deps.send, say });

  function open(order: CallOrder): void {
    const { label } = order;
    if (calls.has(label)) throw new Error('A label is for one call.');
    try {
      const session = createCallSession(order, {
        now: deps.now,
        tellAttempt: (attempt) => say({ say: 'attempt', label, attempt }),
        ask: (target, signal) => askAbout(label, target, signal),
        credential: (target) => credentials.wait((id) => say({ say: 'credential', id, label, target })),
      });
      calls.set(label, { session, listeners: new Set() });
      say({ say: 'opened', label, ...(session.authority === undefined ? {} : { caPem: session.authority.caPem }) });
    } catch (error) {
      const message = error instanceof EgressError ? error.message : 'The call could not be opened.';
      say({ say: 'not_opened', label, message });
      if (!(error instanceof EgressError)) deps.onFault(error);
    }
  }

  function askAbout(label: string, target: Target, signal: AbortSignal): Promise<AskAnswer> {
    let asked = 0;
    const answer = answers.wait((id) => {
      asked = id;
      say({ say: 'ask', id, label, target });
    });
    signal.addEventListener('abort', () => {
      say({ say: 'withdraw', id: asked });
      answers.fail(asked, new Error('Nobody waits any more.'));
    });
    return answer;
  }

  function close(label: string): void {
    const call = calls.get(label);
    if (call === undefined) return;
    calls.delete(label);
    for (const server of call.listeners) server.close();
    for (const { order, abort } of fetches.values()) if (order.label === label) abort.abort();
    call.session.close();
    say({ say: 'closed', label });
  }

  function startFetch(fetching: Fetching): void {
    const { id, label, request } = fetching.order;
    void fetchNow().catch((error: unknown) => {
      deps.onFault(error);
      fetches.delete(id);
      const why = denial('egress.not_reached', { host: '', port: 0 }, { detail: 'the proxy could not do it' });
      say({ say: 'fetched', id, end: { kind: 'failed', denial: why, hops: [] } });
    });

    async function fetchNow(): Promise<void> {
      const session = calls.get(label)?.session;
      if (session === undefined) throw new Error('A fetch of no call.');
      const own = (target: Target) =>
        credentials.wait((number) => say({ say: 'credential', id: number, label, fetch: id, target }));
      const credential = request.hasCredential ? own : session.credential;
      const fetched = await fetchUrl(
        { session, deps, request, credential, body: Buffer.concat(fetching.body) },
        fetching.abort.signal,
      );
      fetches.delete(id);
      for (let at = 0; at < fetched.body.length; at += PIECE_BYTES) {
        deps.send(bytesFrame(id, fetched.body.subarray(at, at + PIECE_BYTES)));
      }
      say({ say: 'fetched', id, end: fetched.end });
    }
  }

  function hearMessage(message: ToProxy): void {
    switch (message.say) {
      case 'open':
        open(message.call);
        return;
      case 'close':
        close(message.label);
        return;
      case 'answer':
        answers.give(message.id, message.answer);
        return;
      case 'credential':
        hearCredential(message);
        return;
      case 'fetch':
        hearFetch(message);
        return;
      case 'abort':
        fetches.get(message.id)?.abort.abort();
        return;
      case 'door_taken':
      case 'door_end':
      case 'door_closed':
        doors.hear(message);
    }
  }

  function hearCredential({ id, headers }: Extract<ToProxy, { say: 'credential' }>): void {
    if (headers === 'failed') credentials.fail(id, new Error('There is no credential to be had.'));
    else credentials.give(id, headers === 'none' ? [] : headers);
  }

  function hearFetch(order: Extract<ToProxy, { say: 'fetch' }>): void {
    const fetching: Fetching = { order, abort: new AbortController(), body: [], received: 0 };
    fetches.set(order.id, fetching);
    if (order.request.bodyBytes === 0) startFetch(fetching);
  }

  function hearBytes(id: number, bytes: Uint8Array): void {
    const fetching = fetches.get(id);
    if (fetching === undefined) return;
    fetching.body.push(bytes);
    fetching.received += bytes.length;
    if (fetching.received === fetching.order.request.bodyBytes) startFetch(fetching);
  }

  return {
    hear(frame) {
      if (frame.kind === 'json') hearMessage(frame.value as ToProxy);
      else if (isDoor(frame.id)) doors.hearBytes(frame.id, frame.bytes);
      else hearBytes(frame.id, frame.bytes);
    },
    takeListener(label, server) {
      const call = calls.get(label);
      // SECURITY: T-22 — a listener whose call is over, or never was, leads nowhere.
      if (call === undefined) {
        server.close();
        return;
      }
      call.listeners.add(server);
      server.on('connection', (socket: Socket) => void serveConnection(socket, call.session, { ...deps, doors }));
    },
    close() {
      for (const label of calls.keys()) close(label);
    },
  };
}
