import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import { type ConnectRouter, createConnectRouter } from '@connectrpc/connect';
import type { Config } from '@palyra/config';
import type { Clock, Logger } from '@palyra/primitives';
import type { createRequestGate } from '../interceptors/request-gate.ts';
import { answer } from '../listeners/answer.ts';
import { handleConnect } from '../listeners/handle-connect.ts';
import { keepSessionsHonest } from '../listeners/keep-sessions-honest.ts';
import type { ApiDeps } from '../listeners/serve-api.ts';
import { createRequestValues } from '../wire/request-values.ts';
import type { AgentSessions } from './agent-sessions.ts';
import { COLLECT_MAGIC } from './collect-frames.ts';
import { HOOK_KEY_BYTES, HOOK_MAGIC, hookKeyOf } from './hook-frames.ts';
import { answerHook } from './hook-listener.ts';
import { countUnproven } from './unproven-bytes.ts';
import type { Door } from './wrapped-sessions.ts';

export interface DoorDeps {
  readonly sessions: Pick<AgentSessions, 'answer' | 'caller' | 'collect'>;
  readonly gate: ReturnType<typeof createRequestGate>;
  readonly interceptors: ApiDeps['interceptors'];
  register(router: ConnectRouter): void;
  readonly limits: Config['limits'];
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Aborted when palyrad begins to end, and when it has. */
  readonly stopping: AbortSignal;
  readonly stopped: AbortSignal;
}

export interface OpenDoor {
  readonly door: Door;
  /** Hangs up on everybody. */
  close(): void;
}

/**
 * In a box nobody else can be at this port: it was taken before the agent's first instruction, and its socket is with us.
 * So there is no key to keep, and the hook's frames are signed with none.
 */
const NO_KEY = hookKeyOf(Buffer.alloc(HOOK_KEY_BYTES));
/** The hook's words, and those of whoever comes for a command. What begins otherwise is the API's. */
const MAGICS = [HOOK_MAGIC, COLLECT_MAGIC];
const HEADER_BYTES = 16 * 1024;
const FIRST_WORD_MS = 10_000;
const MOST_UNPROVEN = 64 * 1024 * 1024;
const MOST_STRANGERS = 128;

/** Hooks and calls of the API, on connections that an agent in a box makes. */
export function openDoor(deps: DoorDeps): OpenDoor {
  const open = new Set<Duplex>();
  const unproven = countUnproven({ mostBytes: MOST_UNPROVEN, mostOpen: MOST_STRANGERS });
  const { server, hangUp } = apiServer(deps);
  const take = async (connection: Duplex): Promise<void> => {
    const first = await firstBytes(connection);
    if (first === undefined) return void connection.destroy();
    if (MAGICS.some((magic) => first.subarray(0, magic.length).equals(magic))) {
      // Not given back to the connection: behind its end that takes nothing.
      await answerHook(connection, { key: NO_KEY, unproven, heard: first }, deps);
      return;
    }
    connection.unshift(first);
    server.emit('connection', connection);
  };
  return {
    door(connection) {
      open.add(connection);
      connection.once('close', () => open.delete(connection));
      connection.on('error', () => connection.destroy());
      void take(connection).catch((error: unknown) => {
        deps.logger.warn({ error }, 'A connection from a box could not be answered.');
        connection.destroy();
      });
    },
    close() {
      hangUp();
      for (const connection of open) connection.destroy();
    },
  };
}

function apiServer(deps: DoorDeps): { readonly server: Http2Server; hangUp(): void } {
  const { limits, logger } = deps;
  const router = createConnectRouter({
    requestGate: deps.gate,
    interceptors: [...deps.interceptors],
    readMaxBytes: limits.message_bytes,
    writeMaxBytes: limits.message_bytes,
    acceptCompression: [],
    shutdownSignal: deps.stopped,
  });
  deps.register(router);
  const bodyMs = limits.request_seconds * 1000;
  const serve = handleConnect({
    router,
    logger,
    contextValues: createRequestValues,
    bodyMs,
    messageBytes: limits.message_bytes,
  });
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer(
    { settings: { maxConcurrentStreams: limits.streams_per_connection, maxHeaderListSize: HEADER_BYTES } },
    (request, response) => {
      if (!serve(request, response)) answer(response, { status: 404, text: 'There is nothing here.\n' });
    },
  );
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('sessionError', () => undefined);
  keepSessionsHonest(server);
  return {
    server,
    hangUp() {
      for (const session of sessions) session.destroy();
    },
  };
}

/** SECURITY: T-39 — who says nothing is not waited for. */
function firstBytes(connection: Duplex): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const late = setTimeout(() => settle(undefined), FIRST_WORD_MS);
    const settle = (bytes: Buffer | undefined) => {
      clearTimeout(late);
      connection.off('readable', look);
      connection.off('end', gone);
      connection.off('close', gone);
      resolve(bytes);
    };
    let held = Buffer.alloc(0);
    const look = () => {
      for (let bytes = connection.read() as Buffer | null; bytes !== null; bytes = connection.read() as Buffer | null) {
        held = Buffer.concat([held, bytes]);
      }
      const isUndecided = MAGICS.some(
        (magic) => held.length < magic.length && magic.subarray(0, held.length).equals(held),
      );
      if (held.length > 0 && !isUndecided) settle(held);
    };
    const gone = () => settle(undefined);
    connection.on('readable', look);
    connection.once('end', gone);
    connection.once('close', gone);
  });
}
