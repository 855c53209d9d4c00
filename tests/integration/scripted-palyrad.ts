import { once } from 'node:events';
import { createServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter, createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { DecisionKind, ErrorDetailSchema, OutcomeKind, RunService } from '@palyra/api';
import { openExchange } from '../../packages/client/src/connection/open-channel.ts';
import type { ReconnectOptions } from '../../packages/client/src/connection/reconnect.ts';
import { translateError } from '../../packages/client/src/connection/translate-error.ts';
import { type Client, openClient } from '../../packages/client/src/open-client.ts';
import { createScriptedRun, type Script, type ScriptedRun } from './scripted-run.ts';

/** A real Connect server on loopback with one scripted run. Connections end when they are told to. */
export interface ScriptedPalyrad extends AsyncDisposable {
  readonly run: ScriptedRun;
  /** How many events each connection carries before it is cut, one after the other; then they stay. */
  readonly cuts: number[];
  /** Whether the connection is cut instead of an answer to FeedCall, one after the other. */
  readonly cutFeeds: ('cut' | 'answer')[];
  /** What each RunStream began with: a start, or the number after which it resumed. */
  readonly began: (bigint | 'start')[];
  /** Keys in the order of their proposals. */
  readonly proposed: string[];
  /** Somebody came back. */
  readonly resumed: Promise<void>;
  client(reconnect?: ReconnectOptions): Client;
  cutNow(): void;
  /** Nobody listens any more; `listen` again on the same port. */
  stop(): Promise<void>;
  listen(): Promise<void>;
}

export interface ScriptedOptions {
  readonly script: Script;
  /** How many events before the cursor are told again to who resumes. */
  readonly retells?: bigint;
  /** More services. */
  readonly routes?: (router: ConnectRouter) => void;
}

export async function startScriptedPalyrad({
  script,
  retells = 0n,
  routes,
}: ScriptedOptions): Promise<ScriptedPalyrad> {
  const run = createScriptedRun(script);
  const cuts: number[] = [];
  const cutFeeds: ScriptedPalyrad['cutFeeds'] = [];
  const began: (bigint | 'start')[] = [];
  const proposed: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const clients: Client[] = [];
  const resumed = Promise.withResolvers<void>();
  let port = 0;
  const cutNow = () => {
    for (const session of sessions) session.destroy();
  };
  const handler = connectNodeAdapter({
    routes(router) {
      router.service(RunService, {
        async *runStream(requests, { signal }) {
          const messages = requests[Symbol.asyncIterator]();
          const first = await messages.next();
          const opening = first.done === true ? undefined : first.value.message;
          const after = opening?.case === 'resume' ? opening.value.afterSequence : 0n;
          began.push(opening?.case === 'resume' ? after : 'start');
          if (began.length > 1) resumed.resolve();
          void (async () => {
            for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
              if (next.value.message.case === 'propose') proposed.push(next.value.message.value.key);
              run.hear(next.value, after);
            }
          })().catch(() => undefined);
          yield* told(after, signal);
        },
        async *watchRun({ afterSequence }, { signal }) {
          yield* told(afterSequence, signal);
        },
        callTool: ({ proposal }) => ({
          result: {
            runId: run.id,
            callId: `call-of-${proposal?.key ?? ''}`,
            tool: proposal?.tool ?? '',
            decision: { kind: DecisionKind.ALLOW },
            outcome: { kind: OutcomeKind.COMPLETED, exitCode: 0 },
            attestation: { attestationId: `attestation-of-${proposal?.key ?? ''}`, journalSeq: 7n },
          },
        }),
        feedCall({ input }) {
          if (input !== undefined) run.feed(input);
          if (cutFeeds.shift() === 'cut') cutNow();
          return {};
        },
        cancelCall({ key }) {
          run.cancelCall(key);
          return {};
        },
      });
      routes?.(router);
    },
  });
  async function* told(after: bigint, signal: AbortSignal) {
    const left = { events: cuts.shift() ?? Number.POSITIVE_INFINITY };
    let cursor = after === 0n ? 0n : after - retells;
    for (;;) {
      if (left.events === 0) {
        // Now and then what was said last is lost with the connection; not of the first, which gives the run its name.
        if (after === 0n || cursor % 2n === 0n) await setImmediate();
        cutNow();
        return;
      }
      const event = await run.next(cursor, signal);
      if (event === undefined) return;
      cursor = event.sequence;
      left.events -= 1;
      yield { event };
    }
  }
  let server = createServer(handler);
  const listen = async () => {
    server = createServer(handler);
    server.on('session', (session) => {
      sessions.add(session);
      session.once('close', () => sessions.delete(session));
      session.on('error', () => undefined);
    });
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    const closed = once(server, 'close');
    server.close();
    cutNow();
    await closed;
  };
  await listen();
  return {
    run,
    cuts,
    cutFeeds,
    began,
    proposed,
    resumed: resumed.promise,
    client(reconnect = { firstPauseMs: 1, longestPauseMs: 5, giveUpAfterMs: 20_000 }) {
      const client = openClient({ channel: plainChannel(port), reconnect });
      clients.push(client);
      return client;
    },
    cutNow,
    stop,
    listen,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.close();
      if (server.listening) await stop();
    },
  };
}

/** As palyrad says what it refuses. */
export function failure(code: string, message: string, fix: string): ConnectError {
  return new ConnectError(message, Code.NotFound, undefined, [
    { desc: ErrorDetailSchema, value: { code, message, fix } },
  ]);
}

/** Without TLS, which has its own tests. */
function plainChannel(port: number): Parameters<typeof openClient>[0]['channel'] {
  const baseUrl = `http://127.0.0.1:${port}`;
  const manager = new Http2SessionManager(baseUrl);
  return {
    transport: createConnectTransport({ baseUrl, httpVersion: '2', sessionManager: manager, acceptCompression: [] }),
    exchange: openExchange({ baseUrl, manager }),
    async connect() {
      if ((await manager.connect()) === 'error') throw translateError(manager.error());
    },
    close: () => manager.abort(),
  };
}
