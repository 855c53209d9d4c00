import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '@palyra/api';
import { DAEMON_ERRORS } from './daemon-error.ts';

/** The end of palyrad, in two steps that everything hears of. */
export interface Lifecycle {
  /** Aborted first: no new work is taken, what runs may end. */
  readonly stopping: AbortSignal;
  /** Aborted when the time for that is over: streams end. */
  readonly stopped: AbortSignal;
  beginStopping(): void;
  endStreams(): void;
}

export function createLifecycle(): Lifecycle {
  const stopping = new AbortController();
  const stopped = new AbortController();
  return {
    stopping: stopping.signal,
    stopped: stopped.signal,
    beginStopping: () => stopping.abort(),
    endStreams: () => stopped.abort(ending()),
  };
}

/** What whoever still listens is told. */
function ending(): ConnectError {
  const detail = { code: 'daemon.stopping', message: DAEMON_ERRORS['daemon.stopping'], fix: 'Connect again later.' };
  return new ConnectError(detail.message, Code.Unavailable, undefined, [{ desc: ErrorDetailSchema, value: detail }]);
}
