import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '@palyra/api';
import { describe, expect, test } from 'vitest';
import { ClientError } from '../client-error.ts';
import { isLost, translateError } from './translate-error.ts';

test('what palyrad says is told as it says it', () => {
  const detail = { code: 'gateway.run_ended', message: 'The run is over.', fix: 'Start another one.' };
  const thrown = new ConnectError('x', Code.FailedPrecondition, undefined, [
    { desc: ErrorDetailSchema, value: detail },
  ]);
  expect(translateError(thrown)).toMatchObject({ name: 'ClientError', ...detail, cause: thrown });
});

test('an error of ours stays what it is', () => {
  const error = new ClientError('client.closed', 'Closed.');
  expect(translateError(error)).toBe(error);
});

describe('without such words', () => {
  const nodeError = (code: string) => Object.assign(new Error('x'), { code });
  test.each([
    ['nobody listens', nodeError('ECONNREFUSED'), 'client.unreachable'],
    ['the connection is cut', new ConnectError('x', Code.Aborted), 'client.unreachable'],
    ['the stream is reset', new ConnectError('x', Code.Canceled), 'client.unreachable'],
    ['something else that nobody knows', 'a text', 'client.unreachable'],
    ['another authority', nodeError('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 'client.server_not_proven'],
    ['its certificate has expired', nodeError('CERT_HAS_EXPIRED'), 'client.server_not_proven'],
    ['ours is not taken', nodeError('ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'), 'client.credential_refused'],
    ['ours has expired', nodeError('ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED'), 'client.credential_refused'],
    ['no credential', new ConnectError('x', Code.Unauthenticated), 'client.credential_refused'],
    ['no such call', new ConnectError('x', Code.Unimplemented), 'client.not_supported'],
    ['too much', new ConnectError('x', Code.ResourceExhausted), 'client.protocol'],
  ])('%s', (_name, cause, code) => {
    const wrapped = cause instanceof ConnectError ? cause : new ConnectError('x', Code.Internal, undefined, [], cause);
    expect(translateError(wrapped).code).toBe(code);
  });
});

test('only lost connections are worth another try', () => {
  const codes = ['client.unreachable', 'daemon.stopping', 'client.credential_refused', 'gateway.run_ended'];
  expect(codes.map((code) => isLost(new ClientError(code, '')))).toEqual([true, true, false, false]);
});
