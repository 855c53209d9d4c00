import { Code, ConnectError, createConnectRouter } from '@connectrpc/connect';
import { createAsyncIterable, readAllBytes } from '@connectrpc/connect/protocol';
import { errorFromJsonBytes } from '@connectrpc/connect/protocol-connect';
import { findTrailerError } from '@connectrpc/connect/protocol-grpc';
import { ErrorDetailSchema, WorkspaceService } from '@palyra/api';
import { expect, test } from 'vitest';
import { DaemonError } from '../daemon-error.ts';
import { toConnectError } from '../interceptors/map-errors.ts';
import { explainRefusal } from './explain-refusal.ts';

const REFUSED = toConnectError(new DaemonError('daemon.not_permitted', 'No.'), { error: () => undefined });

const router = createConnectRouter({ acceptCompression: [], readMaxBytes: 1024 });
router.service(WorkspaceService, {
  addWorkspace: () => ({}),
  listWorkspaces() {
    throw REFUSED;
  },
});

async function answerTo(path: string, type: string, body: Uint8Array) {
  const handler = router.handlers.find(({ requestPath }) => requestPath.endsWith(path));
  if (handler === undefined) throw new Error('There is no such call.');
  const asked = {
    httpVersion: '2.0',
    url: `https://palyrad${handler.requestPath}`,
    method: 'POST',
    header: new Headers({ 'content-type': type }),
    body: createAsyncIterable([body]),
    signal: new AbortController().signal,
  };
  const { status, header, body: said, trailer } = await explainRefusal(await handler(asked));
  const bytes = await readAllBytes(said ?? createAsyncIterable([]), 1 << 20);
  const error =
    trailer === undefined
      ? errorFromJsonBytes(bytes, undefined, new ConnectError('none', Code.Unknown))
      : findTrailerError(trailer);
  const length = header?.get('content-length') ?? String(bytes.length);
  return { status, bytes, error, isWhole: length === String(bytes.length) };
}

const framed = (message: Uint8Array) => Buffer.concat([Uint8Array.of(0, 0, 0, 0, message.length), message]);
const text = (value: string) => new TextEncoder().encode(value);
// Field 1, two bytes of which the second is missing its continuation.
const NO_TEXT = Uint8Array.of(0x0a, 0x02, 0xc3, 0x28);

test.each([
  ['JSON that is none', 'application/json', text('{"path"')],
  ['a field of another type', 'application/json', text('{"path":7}')],
  ['bytes that are no text', 'application/proto', NO_TEXT],
  ['the same by gRPC', 'application/grpc', framed(NO_TEXT)],
])('%s are told with a code and a fix', async (_what, type, body) => {
  const { error, isWhole } = await answerTo('AddWorkspace', type, body);
  expect(error?.code).toBe(Code.InvalidArgument);
  expect(error?.findDetails(ErrorDetailSchema)).toMatchObject([
    { code: 'daemon.invalid_request', fix: 'docs/reference/api.md says what each call takes.' },
  ]);
  expect(isWhole).toBe(true);
});

test.each([
  ['application/json', text(`{"path":"${'a'.repeat(2000)}"}`)],
  ['application/grpc', Buffer.concat([Uint8Array.of(0, 0, 0, 8, 0), Buffer.alloc(2048)])],
])('what is too large is told as that (%s)', async (type, body) => {
  const { error } = await answerTo('AddWorkspace', type, body);
  expect(error?.code).toBe(Code.ResourceExhausted);
  expect(error?.findDetails(ErrorDetailSchema)).toMatchObject([{ code: 'daemon.too_large' }]);
});

test.each([
  ['application/json', text('{}')],
  ['application/grpc', framed(new Uint8Array())],
])('what has a reason of its own keeps it, and what went well is not touched (%s)', async (type, body) => {
  const { error } = await answerTo('ListWorkspaces', type, body);
  expect(error?.findDetails(ErrorDetailSchema)).toMatchObject([{ code: 'daemon.not_permitted' }]);
  const good = await answerTo('AddWorkspace', type, body).catch((thrown: unknown) => ({ error: thrown, status: 200 }));
  expect(good.status).toBe(200);
});
