import { Code, ConnectError } from '@connectrpc/connect';
import { createAsyncIterable, readAllBytes, type UniversalServerResponse } from '@connectrpc/connect/protocol';
import { codeToHttpStatus, errorFromJsonBytes, errorToJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError, setTrailerStatus } from '@connectrpc/connect/protocol-grpc';
import { ErrorDetailSchema } from '@palyra/api';
import { DaemonError } from '../daemon-error.ts';
import { connectCodeOf } from './connect-code.ts';

/** What the library refuses by itself, because it is no message of this call or too large, gets a code of ours and a fix. */
export function explained(error: ConnectError): ConnectError {
  const why = error.details.length > 0 ? undefined : reasonOf(error);
  if (why === undefined) return error;
  const { code, message, fix = '' } = why;
  const detail = { desc: ErrorDetailSchema, value: { code, message, fix } };
  // The cause is for logs and metrics, and is not sent.
  return new ConnectError(error.rawMessage, connectCodeOf(code), undefined, [detail], why);
}

/** The library calls bytes that are no message an internal error. */
const NO_MESSAGE = /^parse binary: /;

/** What the library says of it names fields and sizes, and nothing of ours. */
function reasonOf({ code, rawMessage }: ConnectError): DaemonError | undefined {
  if (code === Code.InvalidArgument || (code === Code.Internal && NO_MESSAGE.test(rawMessage))) {
    return new DaemonError('daemon.invalid_request', `This is no message of the call: ${rawMessage}.`, {
      fix: 'docs/reference/api.md says what each call takes.',
    });
  }
  if (code === Code.ResourceExhausted) {
    return new DaemonError('daemon.too_large', `The message is too large: ${rawMessage}.`, {
      fix: 'Send less, or in several calls; an operator can raise limits.message_bytes.',
    });
  }
  return undefined;
}

/**
 * The answer to a call with one message: that is read before any interceptor is asked, and what is wrong with it is written into
 * the answer by then. In gRPC-web, which has its status within the body, it stays as it is.
 */
export async function explainRefusal(response: UniversalServerResponse): Promise<UniversalServerResponse> {
  const { status, header, body, trailer } = response;
  const refusal = trailer === undefined ? undefined : findTrailerError(trailer);
  if (trailer !== undefined && refusal !== undefined && refusal.details.length === 0) {
    setTrailerStatus(trailer, explained(refusal));
  }
  if (status < 400 || body === undefined || header?.get('content-type') !== 'application/json') return response;
  const said = await readAllBytes(body, Number.MAX_SAFE_INTEGER);
  const error = parsedError(said);
  if (error === undefined || error.details.length > 0) return { ...response, body: createAsyncIterable([said]) };
  const better = explained(error);
  const bytes = errorToJsonBytes(better, undefined);
  header.set('content-length', String(bytes.length));
  return { ...response, status: codeToHttpStatus(better.code), body: createAsyncIterable([bytes]) };
}

function parsedError(bytes: Uint8Array): ConnectError | undefined {
  const none = new ConnectError('This is no error that the library wrote.', Code.Unknown);
  try {
    return errorFromJsonBytes(bytes, undefined, none);
  } catch (thrown) {
    if (thrown === none) return undefined;
    throw thrown;
  }
}
