import { ClientError } from '../client-error.ts';
import { type StreamDeps, watchAgain } from '../connection/watch-again.ts';
import type { RunDeps } from './open-run.ts';
import { type RunEvent, toRunEvent } from './run-event.ts';

export interface WatchOptions {
  /** The last event that is known already; everything unless told. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/**
 * The events of a run on a stream of their own, so that a slow reader slows nobody else; palyrad keeps them meanwhile. Whoever
 * falls far behind may miss output, never a result. Throws `ClientError`.
 */
export async function* watchRun(
  id: string,
  { after = 0, signal: stop }: WatchOptions,
  deps: StreamDeps & Pick<RunDeps, 'rpc'>,
): AsyncGenerator<RunEvent> {
  let cursor = BigInt(after);
  const open = (signal: AbortSignal) => deps.rpc.watchRun({ runId: id, afterSequence: cursor }, { signal });
  for await (const told of watchAgain({ open, stop }, deps)) {
    const wire = told.kind === 'told' ? told.message.event : undefined;
    if (wire === undefined || wire.sequence <= cursor) continue;
    cursor = wire.sequence;
    const event = toRunEvent(wire);
    if (event === undefined) continue;
    yield event;
    if (event.kind === 'run_ended') return;
  }
}

/** As its first event has it. Throws `ClientError`: `gateway.run_not_found` when it is nobody's, or somebody else's. */
export async function placeOfRun(
  id: string,
  deps: StreamDeps & Pick<RunDeps, 'rpc'>,
): Promise<{ readonly id: string; readonly session: string }> {
  for await (const event of watchRun(id, {}, deps)) {
    if (event.kind === 'run_started') return { id: event.run_id, session: event.session_id };
  }
  throw new ClientError('client.protocol', 'palyrad did not tell how the run began.');
}
