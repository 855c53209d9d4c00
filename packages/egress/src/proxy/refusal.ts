import type { EgressDenial } from '../denial.ts';

/** The whole answer to a request that is not made: a status for programs, a body that an agent can act on. */
export function refusalResponse(denial: EgressDenial): Buffer {
  const body = Buffer.from(`${JSON.stringify({ error: denial })}\n`, 'utf8');
  const status = STATUSES[denial.code] ?? '403 Forbidden';
  const head = [
    `HTTP/1.1 ${status}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
    `palyra-egress: ${/^[\w.-]{1,80}$/.test(denial.code) ? denial.code : 'denied'}`,
    'connection: close',
    '',
    '',
  ].join('\r\n');
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

const STATUSES: Readonly<Record<string, string>> = {
  'egress.malformed_host': '400 Bad Request',
  'egress.malformed_request': '400 Bad Request',
  'egress.host_mismatch': '400 Bad Request',
  'egress.unsupported': '501 Not Implemented',
  'egress.too_many_connections': '429 Too Many Requests',
  'egress.too_many_attempts': '429 Too Many Requests',
  'egress.not_resolved': '502 Bad Gateway',
  'egress.not_reached': '502 Bad Gateway',
  'egress.bad_certificate': '502 Bad Gateway',
  'egress.bad_response': '502 Bad Gateway',
  'egress.too_slow': '504 Gateway Timeout',
};
