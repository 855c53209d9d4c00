import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '@palyra/api';
import { expect, test } from 'vitest';
import { DaemonError } from '../daemon-error.ts';
import { toConnectError } from './map-errors.ts';

function mapped(thrown: unknown) {
  const logged: unknown[] = [];
  const error = toConnectError(thrown, { error: (fields) => void logged.push(fields) });
  const [detail] = error.findDetails(ErrorDetailSchema);
  return { code: error.code, detail: detail?.code, logged: logged.length };
}

test.each([
  Object.assign(new Error('aborted'), { code: 'ECONNRESET' }),
  Object.assign(new Error('Stream closed with error code NGHTTP2_CANCEL'), { code: 'ERR_HTTP2_STREAM_ERROR' }),
  Object.assign(new Error('Premature close'), { code: 'ERR_STREAM_PREMATURE_CLOSE' }),
  new DOMException('This operation was aborted', 'AbortError'),
])('whoever hangs up is no fault of ours: %s', (thrown) => {
  expect(mapped(thrown)).toEqual({ code: Code.Canceled, detail: undefined, logged: 0 });
});

test.each([new Error('broken'), Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }), 'a word'])(
  'what went wrong here is a fault, is logged, and keeps its words: %s',
  (thrown) => {
    expect(mapped(thrown)).toEqual({ code: Code.Internal, detail: 'daemon.fault', logged: 1 });
  },
);

test('what is told has its code and is not logged', () => {
  const error = new DaemonError('daemon.too_many', 'The caller calls too often.');
  expect(mapped(error)).toEqual({ code: Code.ResourceExhausted, detail: 'daemon.too_many', logged: 0 });
});

test.each([
  ['invalid field', Code.InvalidArgument, 'daemon.invalid_request'],
  ['message is larger', Code.ResourceExhausted, 'daemon.too_large'],
  ['stream was reset', Code.Canceled, undefined],
  ['something else', Code.Internal, undefined],
])('what the library refuses in the middle of a stream has our code, too: %s', (message, code, detail) => {
  expect(mapped(new ConnectError(message, code))).toEqual({ code, detail, logged: 0 });
});

test('bytes that are no message are the caller’s, whatever the library calls them', () => {
  const told = mapped(new ConnectError('parse binary: premature EOF', Code.Internal));
  expect(told).toEqual({ code: Code.InvalidArgument, detail: 'daemon.invalid_request', logged: 0 });
});
