import type { Duplex } from 'node:stream';
import { endOf, endOfError, type ToldEnd } from '@palyra/agents/exits';
import { type Clock, type Logger, parseId } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { tellableError } from '../interceptors/map-errors.ts';
import type { AgentSessions } from './agent-sessions.ts';
import { type Collection, createTeller, MOST_TOLD } from './collect-frames.ts';
import { hangUpLater } from './hang-up-later.ts';
import type { HeldCommand } from './held-commands.ts';
import type { HookKey } from './hook-frames.ts';

export interface TellCollectorDeps {
  readonly sessions: Pick<AgentSessions, 'caller' | 'collect'>;
  readonly logger: Pick<Logger, 'error'>;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Aborted when palyrad ends: nothing new is begun. */
  readonly stopping: AbortSignal;
}

export interface Collector {
  readonly socket: Duplex;
  readonly key: HookKey;
  /** Aborted when the collector has left, or has half hung up: it does not want the command any more. */
  readonly unwanted: AbortSignal;
}

/** What the agent's shell runs instead of its command, without a client: `services/collect-call.ts` is for those that have one. */
export async function tellCollector(
  collection: Collection,
  { socket, key, unwanted }: Collector,
  deps: TellCollectorDeps,
): Promise<void> {
  const teller = createTeller(collection, key);
  const over = new AbortController();
  const told = (thrown: unknown): ToldEnd => endOfError(tellableError(thrown, deps.logger));
  try {
    const command = await comeFor(collection, deps);
    // SECURITY: T-35 — what runs already ends, too, when whoever came for it does not count any more.
    const close = () => socket.destroy();
    void hangUpLater({ checked: deps.sessions.caller, close, clock: deps.clock, signal: over.signal });
    socket.end(teller.end(await follow(command, { socket, unwanted, teller }).catch(told)));
  } catch (error) {
    socket.end(teller.end(told(error)));
  } finally {
    over.abort('over');
  }
}

/** As the hook asks: as whom, is looked up for each. Throws what is told to whoever came. */
async function comeFor({ callId }: Collection, { sessions, stopping }: TellCollectorDeps): Promise<HeldCommand> {
  if (stopping.aborted) throw new DaemonError('daemon.stopping', 'palyrad is ending and takes no more work.');
  const { credential } = await sessions.caller();
  return sessions.collect(parseId('call', callId), credential);
}

interface Listening extends Pick<Collector, 'socket' | 'unwanted'> {
  readonly teller: ReturnType<typeof createTeller>;
}

async function follow(
  { output, result, cancel }: HeldCommand,
  { socket, unwanted, teller }: Listening,
): Promise<ToldEnd> {
  if (unwanted.aborted) cancel();
  unwanted.addEventListener('abort', cancel, { once: true });
  try {
    for await (const { stream, bytes } of output.pieces()) {
      for (let from = 0; from < bytes.length && !socket.destroyed; from += MOST_TOLD) {
        const isTaken = socket.write(teller.output(stream, bytes.subarray(from, from + MOST_TOLD)));
        // The command waits in its own `write` meanwhile.
        if (!isTaken) await drained(socket);
      }
      if (socket.destroyed) cancel();
    }
    return endOf(await result);
  } finally {
    unwanted.removeEventListener('abort', cancel);
    // Whoever left before the end does not want it any more; after it there is nothing to end.
    cancel();
  }
}

/** Or gone. */
function drained(socket: Duplex): Promise<void> {
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      socket.off('drain', done);
      socket.off('close', done);
      resolve();
    };
    socket.on('drain', done);
    socket.on('close', done);
  });
}
