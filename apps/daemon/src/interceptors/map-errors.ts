import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { ErrorDetailSchema } from '@palyra/api';
import { AppError, type Logger } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import { connectCodeOf } from '../wire/connect-code.ts';
import { explained } from '../wire/explain-refusal.ts';
import { relayMessages } from './relay-messages.ts';

/** Around whatever may throw: it becomes an error with our code in it, and nothing of ours is told by accident. */
export function mapErrors(logger: Pick<Logger, 'error'>): Interceptor {
  // One for all streams: nothing in it is of any of them.
  const hooks = { failed: (thrown: unknown) => toConnectError(thrown, logger) };
  return (next) => async (request) => {
    const response = await next(request).catch((thrown: unknown) => {
      throw toConnectError(thrown, logger);
    });
    if (!response.stream) return response;
    return { ...response, message: relayMessages(response.message, hooks) };
  };
}

/** Also for what is refused before there is a message. */
export function toConnectError(thrown: unknown, logger: Pick<Logger, 'error'>): ConnectError {
  if (thrown instanceof ConnectError) return explained(thrown);
  // The caller hung up, or its time was over: nobody is there to be told.
  if (Object(thrown).name === 'AbortError' || isHangUp(thrown))
    return new ConnectError('The call was given up.', Code.Canceled);
  const error = tellableError(thrown, logger);
  const code = connectCodeOf(error.code);
  const detail = { code: error.code, message: error.message, fix: error.fix ?? '' };
  const connectError = new ConnectError(error.message, code, undefined, [{ desc: ErrorDetailSchema, value: detail }]);
  // For logs and metrics, which see the error on its way out; it is not sent.
  connectError.cause = error;
  return connectError;
}

/** What a caller may hear of it; the log hears the rest. */
export function tellableError(thrown: unknown, logger: Pick<Logger, 'error'>): AppError {
  const error = thrown instanceof AppError ? thrown : fault(thrown);
  if (connectCodeOf(error.code) === Code.Internal) logger.error({ error: thrown }, 'A call of the API failed.');
  return error;
}

/** What Node says of a request whose sender is gone before its end. Of a connection that is ours it says it in other words. */
function isHangUp(thrown: unknown): boolean {
  const { code, message } = Object(thrown) as { readonly code?: unknown; readonly message?: unknown };
  return (code === 'ECONNRESET' && message === 'aborted') || HANG_UPS.has(String(code));
}

const HANG_UPS: ReadonlySet<string> = new Set(['ERR_HTTP2_STREAM_ERROR', 'ERR_STREAM_PREMATURE_CLOSE']);

/** SECURITY: T-24 — a fault is told without its words, which may hold what the caller must not see. */
function fault(cause: unknown): DaemonError {
  return new DaemonError('daemon.fault', 'Something went wrong that is not the caller’s fault.', {
    fix: 'The log of palyrad says what.',
    cause,
  });
}
