import { isIP } from 'node:net';
import { createPrivateRanges } from './addresses/private-ranges.ts';
import type { EgressCall } from './egress-call.ts';
import { EgressError } from './egress-error.ts';
import { DEFAULT_FETCH_LIMITS, type FetchRequest } from './fetch-request.ts';
import { canonicalHost, isMalformed } from './hosts/canonical-host.ts';
import type { CallOrder, FetchOrder } from './wire/messages.ts';

/** What of a call is data, looked at before the proxy gets it. Throws `EgressError` `egress.bad_call` or `egress.bad_range`. */
export function callOrder(call: EgressCall): CallOrder {
  if (!/^[!-~]{16,128}$/.test(call.label)) throw badCall('Its label is not 16 to 128 printable characters.');
  const limits = Object.values(call.limits);
  if (!limits.every((limit) => Number.isSafeInteger(limit) && limit >= 0))
    throw badCall('A limit is not a whole number.');
  createPrivateRanges(call.privateRanges);
  const pinned = Object.entries(call.pinned ?? {});
  for (const [name, addresses] of pinned) checkPinned(name, addresses);
  const terminate = call.terminate ?? [];
  // SECURITY: T-24 — host by host: whoever ends the TLS of a whole suffix reads what nobody bound to anything.
  if (terminate.some(({ kind }) => kind !== 'exact')) throw badCall('TLS is ended for hosts, and not for suffixes.');
  if (terminate.some(({ host }) => isIP(host) !== 0)) throw badCall('TLS to an address cannot be ended here.');
  return {
    label: call.label,
    mode: call.mode,
    rules: call.rules,
    privateRanges: call.privateRanges,
    limits: call.limits,
    pinned: call.pinned ?? {},
    encryptedHello: call.encryptedHello ?? 'refuse',
    terminate,
    authorities: call.authorities ?? [],
    asks: call.ask !== undefined,
    hasCredentials: call.credential !== undefined,
    hasDoor: call.door !== undefined,
  };
}

/** Throws `EgressError` `egress.bad_call`. */
export function fetchOrder(request: FetchRequest): FetchOrder {
  const method = (request.method ?? 'GET').toUpperCase();
  const headers = Object.entries(request.headers ?? {});
  // SECURITY: T-25 — a line end in a header is a second header, or a second request.
  if (!METHOD.test(method)) throw badCall('It asks with a method that is not sent from here.');
  if (!headers.every(isHeader)) throw badCall('It has a header that cannot be sent.');
  return {
    url: request.url,
    method,
    headers,
    bodyBytes: request.body?.length ?? 0,
    limits: { ...DEFAULT_FETCH_LIMITS, ...request.limits },
    contentTypes: request.contentTypes,
    redirects: request.redirects ?? 'follow',
    hasCredential: request.credential !== undefined,
  };
}

/** CONNECT and TRACE are for proxies and debuggers. */
const METHOD = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|QUERY)$/;

/** Whether name and value can stand in a head, in one line and with one meaning. */
export function isHeader([name, value]: readonly [string, string]): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/.test(name) && /^[\t -~\x80-\xff]{0,16384}$/.test(value);
}

function checkPinned(name: string, addresses: readonly string[]): void {
  const host = canonicalHost(name);
  const isName = !isMalformed(host) && host.kind === 'name' && !host.isRewritten;
  const areAddresses =
    addresses.length > 0 && addresses.every((address) => isIP(address) !== 0 && !address.includes('%'));
  if (!isName || !areAddresses) throw badCall('A pinned name is not a host name with its addresses.');
}

function badCall(message: string): EgressError {
  return new EgressError('egress.bad_call', message, { fix: 'This is a fault of the program that opened the call.' });
}
