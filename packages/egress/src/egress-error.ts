import { AppError } from '@palyra/primitives/bare';

/** Codes are API: add one, never rename one. */
export const EGRESS_ERRORS = {
  'egress.bad_host': 'A host is not written in a way that has one meaning.',
  'egress.bad_rule': 'A rule about hosts does not follow the grammar.',
  'egress.public_suffix': 'A rule for all names under a suffix would cover names of strangers.',
  'egress.bad_range': 'An exception for private addresses is not a network or an address with a port.',
  'egress.bad_call': 'What a call asks of the proxy is not usable.',
  'egress.gate_failed': 'The proxy could not be started, or ended, so there is no way out.',
  'egress.closed': 'Egress is closed; nothing is opened any more.',
} as const;

export type EgressErrorCode = keyof typeof EGRESS_ERRORS;

export class EgressError extends AppError<EgressErrorCode> {}

/** Why a connection is not made, or ended early. Stable words for programs. */
export const EGRESS_DENIALS = {
  'egress.host_not_allowed': 'No rule names this host.',
  'egress.port_not_allowed': 'The host is allowed, and this port of it is not.',
  'egress.scheme_not_allowed': 'The host is allowed with another protocol.',
  'egress.address_not_allowed': 'The address, or one that the name leads to, is not on the public internet.',
  'egress.malformed_host': 'The host is not written in a way that has one meaning.',
  'egress.malformed_request': 'The request can be read in more than one way, or not at all.',
  'egress.unsupported': 'The proxy does not speak what was asked for.',
  'egress.sni_mismatch': 'The TLS handshake names another host than the connection was opened for.',
  'egress.sni_missing': 'The TLS handshake names no host.',
  'egress.ech_refused': 'The TLS handshake hides which host it is for.',
  'egress.host_mismatch': 'The Host header names another host than the connection is for.',
  'egress.not_asked': 'Too many hosts were asked about in one call.',
  'egress.denied': 'Whoever was asked said no, or nobody answered.',
  'egress.too_many_connections': 'The call has as many connections open as it may.',
  'egress.too_many_attempts': 'The call has tried as often as it may.',
  'egress.too_many_bytes': 'The call has moved as many bytes as it may.',
  'egress.too_slow': 'The time for this step of a connection is over.',
  'egress.not_resolved': 'The name does not resolve.',
  'egress.not_reached': 'The host does not answer, or closed the connection.',
  'egress.bad_certificate': 'The host does not prove that it is the one that was asked for.',
  'egress.bad_response': 'The answer can be read in more than one way, or not at all.',
  'egress.response_too_large': 'The answer is larger than it may be.',
  'egress.content_type_not_allowed': 'The answer is of a kind that was not asked for.',
  'egress.too_many_redirects': 'The answers lead from one place to the next without an end.',
  'egress.cancelled': 'Whoever asked does not want it any more.',
} as const;

export type EgressDenialCode = keyof typeof EGRESS_DENIALS;
