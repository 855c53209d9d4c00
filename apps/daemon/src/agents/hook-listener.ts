import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { HomeLayout } from '@palyra/config';
import { type Clock, type Logger, type RandomBytes, secureRandomBytes } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import type { AgentSessions } from './agent-sessions.ts';
import { hangUpLater } from './hang-up-later.ts';
import { holdRequest, type ReadRequest } from './hold-request.ts';
import { removeHookFile, writeHookFile } from './hook-file.ts';
import {
  type BegunMac,
  expectAnswer,
  expectQuestion,
  HOOK_KEY_BYTES,
  type HookKey,
  hookKeyOf,
  MOST_QUESTION,
  writeAnswer,
} from './hook-frames.ts';
import { tellCollector } from './tell-collector.ts';
import { countUnproven, type UnprovenBytes } from './unproven-bytes.ts';

export interface HookListener {
  /** How many hooks wait for their answer, and how many commands are followed. */
  readonly connections: number;
  close(): Promise<void>;
}

export interface HookListenerDeps {
  readonly home: Pick<HomeLayout, 'root'>;
  readonly sessions: Pick<AgentSessions, 'answer' | 'caller' | 'collect'>;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Aborted when palyrad ends: hooks are hung up on, and say no. Commands that run may end first. */
  readonly stopping: AbortSignal;
  readonly random?: RandomBytes;
}

/** SECURITY: T-39 — each may hold a human; an agent does not have more tools under way. */
const MOST_CONNECTIONS = 512;
/** Of a question, to its last byte. A hook connects when it starts; whose agent takes longer to write to it comes again. */
const QUESTION_MS = 10_000;
/** SECURITY: T-39 — of all questions that nobody has proven yet. A hook sends its own in one go, so few are under way. */
const MOST_UNPROVEN = 4 * MOST_QUESTION;
/** And so many who have not proven anything, beside those who wait for an answer. */
const MOST_STRANGERS = 128;
/** A piece costs more than its bytes; many may have only one. */
const PIECE_COST = 256;

/**
 * For `palyra-hook`, which speaks no TLS: loopback, with a key that is in the home and goes over no wire. As the local agent
 * and as nobody else: what can be had here is what the agent's certificate has. Throws `daemon.cannot_listen`.
 */
export async function openHookListener(deps: HookListenerDeps): Promise<HookListener> {
  const { home, random = secureRandomBytes, stopping } = deps;
  const bytes = random(HOOK_KEY_BYTES);
  const key = hookKeyOf(bytes);
  const sockets = new Set<Socket>();
  const asking = new Set<Socket>();
  const unproven = countUnproven({ mostBytes: MOST_UNPROVEN, mostOpen: MOST_STRANGERS });
  // Without delay: the end of a command would wait until its output was acknowledged.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    asking.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      asking.delete(socket);
    });
    // About one hook, which says no when it is hung up on.
    socket.on('error', () => socket.destroy());
    void answerHook(socket, { key, unproven, collects: () => asking.delete(socket) }, deps);
  });
  server.maxConnections = MOST_CONNECTIONS;
  const { port } = await listen(server);
  writeHookFile(home, { port, key: bytes });
  const hangUp = () => {
    for (const socket of asking) socket.destroy();
  };
  stopping.addEventListener('abort', hangUp, { once: true });
  return {
    get connections() {
      return sockets.size;
    },
    async close() {
      stopping.removeEventListener('abort', hangUp);
      removeHookFile(home);
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export interface Proof {
  readonly key: HookKey;
  readonly unproven: UnprovenBytes;
  /** It asks nothing: it has come for a command. */
  collects?(): void;
  /** What somebody else has taken from the connection already. */
  readonly heard?: Buffer;
}

/** One question of a hook, or one command that somebody comes for, on a connection of its own. */
export async function answerHook(
  socket: Duplex,
  { collects, ...proof }: Proof,
  deps: Omit<HookListenerDeps, 'home' | 'random'>,
): Promise<void> {
  const late = setTimeout(() => socket.destroy(), QUESTION_MS);
  late.unref();
  const gone = new AbortController();
  // With a word of its own: else an error is made for each, which costs more than the rest of this.
  const leave = () => gone.abort('gone');
  socket.once('close', () => {
    clearTimeout(late);
    leave();
  });
  // Its end is the end of the agent's patience. From the beginning: it may come right behind the last byte, or have come.
  socket.once('end', leave);
  if (socket.readableEnded) leave();
  const read = await readWhole(socket, proof);
  clearTimeout(late);
  if (read === undefined) {
    deps.logger.warn({}, 'Somebody who is no hook of this home was hung up on.');
    socket.destroy();
    return;
  }
  socket.resume();
  const { key } = proof;
  if (read.kind === 'collection') {
    collects?.();
    return tellCollector(read.collection, { socket, key, unwanted: gone.signal }, deps);
  }
  const { question } = read;
  let begun: BegunMac | undefined;
  // When the answer is waited for: the record of it is on its way to the disk then, and this thread has nothing to do.
  const beside = setImmediate(() => {
    begun = expectAnswer(question, key);
  });
  // SECURITY: T-35 — a human may be asked for half an hour: the question goes when its agent does not count any more.
  void hangUpLater({
    checked: deps.sessions.caller,
    close: () => socket.destroy(),
    clock: deps.clock,
    signal: gone.signal,
  });
  const reply = await deps.sessions.answer(question, gone.signal);
  clearImmediate(beside);
  socket.end(writeAnswer(reply, begun ?? expectAnswer(question, key)));
  setImmediate(() => expectQuestion(key));
}

async function readWhole(socket: Duplex, { key, unproven, heard }: Proof): Promise<Whole | undefined> {
  const held = holdRequest(key);
  const asked = Promise.withResolvers<Whole | undefined>();
  const mine = unproven.open();
  const hear = (bytes: Buffer) => {
    // SECURITY: T-39 — whoever has no key may make palyrad hold only so much, all of them together.
    const read = mine.take(bytes.length + PIECE_COST) ? held.hear(bytes) : ({ kind: 'refused' } as const);
    if (read.kind === 'more') return;
    asked.resolve(read.kind === 'refused' ? undefined : read);
  };
  if (!mine.take(0)) asked.resolve(undefined);
  if (heard !== undefined) hear(heard);
  if (socket.readableEnded) asked.resolve(undefined);
  socket.on('data', hear);
  socket.once('end', () => asked.resolve(undefined));
  socket.once('close', () => asked.resolve(undefined));
  const whole = await asked.promise;
  socket.off('data', hear);
  mine.close();
  return whole;
}

type Whole = Exclude<ReadRequest, { readonly kind: 'more' | 'refused' }>;

async function listen(server: Server): Promise<AddressInfo> {
  try {
    server.listen({ host: '127.0.0.1', port: 0 });
    await once(server, 'listening');
    return server.address() as AddressInfo;
  } catch (cause) {
    throw new DaemonError('daemon.cannot_listen', 'palyrad cannot listen for hooks on loopback.', { cause });
  }
}
