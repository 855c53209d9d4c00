import { isIPv4, isIPv6 } from 'node:net';
import { inspectHost } from '@palyra/primitives/browser';

/** The one spelling of a host: an A-label name in lower case, a dotted IPv4 address, an IPv6 address without brackets. */
export interface CanonicalHost {
  readonly kind: 'name' | 'ipv4' | 'ipv6';
  readonly host: string;
  /** It was written otherwise than it is meant: capitals, a dot at the end, other scripts, numbers that are an address. */
  readonly isRewritten: boolean;
}

/** Why a text is no host. Stable words for programs. */
export type HostFault =
  | 'empty'
  | 'too_long'
  /** White space, control characters, delimiters of URLs, percent signs. */
  | 'forbidden_character'
  /** `fe80::1%eth0`: an address of one interface, which means nothing elsewhere. */
  | 'zone_id'
  | 'bad_address'
  | 'bad_label'
  | 'bad_port'
  | 'bad_scheme'
  /** User or password in front of the host. */
  | 'credentials';

export interface Malformed {
  readonly kind: 'malformed';
  readonly fault: HostFault;
}

/** What is already in its one spelling, and surely a name: nearly every host a proxy sees. */
const PLAIN_NAME =
  /^(?=.{1,253}$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?!xn--)[a-z_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** Labels of other scripts are looked at by the slow way. */
const HAS_A_LABEL = /(?:^|\.)xn--/;

/** Delimiters would make the URL parser see another host, `%` would be decoded. */
const FORBIDDEN = /[\p{Cc}\s/\\?#@%<>^|`{}"'$&()*+,;=!~:[\]]/u;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** No honest host is longer, in whatever script it is written. */
const MOST_CHARACTERS = 1_024;

/**
 * Every spelling of one host comes out as one text, or as a fault. Never throws.
 *
 * SECURITY: T-21 — decimal, octal, hex and short addresses, full-width letters and digits, capitals, a dot at the end: as
 * the URL standard reads them, which is how curl's and browsers' users are led elsewhere.
 */
export function canonicalHost(written: string): CanonicalHost | Malformed {
  if (PLAIN_NAME.test(written) && !HAS_A_LABEL.test(written)) {
    return { kind: 'name', host: written, isRewritten: false };
  }
  if (written === '') return malformed('empty');
  if (written.length > MOST_CHARACTERS) return malformed('too_long');
  const inBrackets = /^\[(.*)\]$/s.exec(written)?.[1];
  if (inBrackets !== undefined || isIPv6(written)) return canonicalIPv6(inBrackets ?? written);
  if (/^\[?[0-9a-f:.]*:[0-9a-f:.]*%/i.test(written)) return malformed('zone_id');
  if (FORBIDDEN.test(written)) return malformed('forbidden_character');
  return canonicalName(written);
}

export function isMalformed(value: object): value is Malformed {
  return 'fault' in value && 'kind' in value && value.kind === 'malformed';
}

export function malformed(fault: HostFault): Malformed {
  return { kind: 'malformed', fault };
}

function canonicalIPv6(written: string): CanonicalHost | Malformed {
  if (written.includes('%')) return malformed('zone_id');
  if (!isIPv6(written)) return malformed('bad_address');
  const host = URL.parse(`http://[${written}]/`)?.hostname.slice(1, -1);
  if (host === undefined) return malformed('bad_address');
  // SECURITY: T-21, T-23 — the system sends what is for a mapped address to the IPv4 address in it, so that is what it is.
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped === null) return { kind: 'ipv6', host, isRewritten: host !== written };
  const [, high = '', low = ''] = mapped;
  return { kind: 'ipv4', host: dotted(Number.parseInt(high, 16), Number.parseInt(low, 16)), isRewritten: true };
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

function canonicalName(written: string): CanonicalHost | Malformed {
  const parsed = URL.parse(`http://${written}/`)?.hostname;
  if (parsed === undefined || parsed === '')
    return malformed(/^[\d.xa-f]+$/i.test(written) ? 'bad_address' : 'bad_label');
  const host = parsed.replace(/\.$/, '');
  if (isIPv4(host)) return { kind: 'ipv4', host, isRewritten: host !== written };
  if (host.length > 253) return malformed('too_long');
  if (host.startsWith('[') || !host.split('.').every((label) => LABEL.test(label))) return malformed('bad_label');
  // A label that says it is a code and is none means nothing to anybody.
  const isCode = HAS_A_LABEL.test(host) && inspectHost(host).warnings.some(({ kind }) => kind === 'bad_punycode');
  return isCode ? malformed('bad_label') : { kind: 'name', host, isRewritten: host !== written };
}
