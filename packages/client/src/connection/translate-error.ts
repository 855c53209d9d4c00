import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '@palyra/api';
import { ClientError } from '../client-error.ts';
import { NOT_PALYRAD } from './client-tls.ts';

/** What Connect and Node throw, as the one error that users of the SDK meet. */
export function translateError(thrown: unknown): ClientError {
  if (thrown instanceof ClientError) return thrown;
  const error = ConnectError.from(thrown);
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail !== undefined) return withFix(detail, error);
  const node = nodeCodesOf(error);
  if (node.some((code) => UNPROVEN.test(code))) return notProven(error);
  if (node.some((code) => code.startsWith('ERR_SSL_') && code.includes('ALERT'))) return credentialRefused(error);
  return byCode(error);
}

/** Whether the same may go well on another connection. */
export function isLost({ code }: ClientError): boolean {
  return code === 'client.unreachable' || code === 'daemon.stopping';
}

/** What OpenSSL says of a certificate that does not lead to the home's authority, or is for something else. */
const UNPROVEN = new RegExp(
  `^(?:${NOT_PALYRAD}|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_|INVALID_|ERR_TLS_CERT_|ERR_SSL_.*CERTIFICATE_VERIFY)`,
);

function withFix(detail: { code: string; message: string; fix: string }, cause: ConnectError): ClientError {
  return new ClientError(detail.code, detail.message, { ...(detail.fix === '' ? {} : { fix: detail.fix }), cause });
}

function byCode(cause: ConnectError): ClientError {
  switch (cause.code) {
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return credentialRefused(cause);
    case Code.Unimplemented:
      return new ClientError('client.not_supported', 'This palyrad does not have what was asked for.', {
        fix: 'Compare the versions: `palyra status` says which one palyrad has.',
        cause,
      });
    case Code.InvalidArgument:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
    case Code.NotFound:
    case Code.AlreadyExists:
    case Code.ResourceExhausted:
    case Code.DataLoss:
      return new ClientError('client.protocol', 'palyrad did not take the request, and does not say why.', { cause });
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Canceled:
    case Code.DeadlineExceeded:
    case Code.Internal:
    case Code.Unknown:
      return new ClientError('client.unreachable', 'palyrad does not answer, or the connection to it was lost.', {
        fix: 'See whether it runs with `palyra status`; `palyra up` starts it.',
        cause,
      });
  }
}

function notProven(cause: unknown): ClientError {
  return new ClientError('client.server_not_proven', 'Whoever answers there is not the palyrad of this home.', {
    fix: 'Look at the address and the home; if both are right, find out which program listens there.',
    cause,
  });
}

function credentialRefused(cause: unknown): ClientError {
  return new ClientError('client.credential_refused', 'palyrad does not take this credential.', {
    fix: 'It may have run out or been revoked: `palyra device list` says so. For this home: palyra init. For a device that was off for weeks: docs/reference/identity.md.',
    cause,
  });
}

function nodeCodesOf(thrown: unknown): readonly string[] {
  const codes: string[] = [];
  const seen = new Set<unknown>();
  for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
    seen.add(error);
    if ('code' in error && typeof error.code === 'string') codes.push(error.code);
  }
  return codes;
}
