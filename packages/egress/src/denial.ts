import type { AddressKind } from './addresses/classify-address.ts';
import { EGRESS_DENIALS, type EgressDenialCode } from './egress-error.ts';
import { coversHost, formatHostRule, type HostRule, narrowestRule } from './hosts/host-rule.ts';
import { formatTarget, type Target } from './hosts/target.ts';

/** The one shape of a no, in the 403 of the proxy, in the outcome of a call, in its record. */
export interface EgressDenial {
  /** One of `EGRESS_DENIALS`, or a code of whoever was asked. */
  readonly code: string;
  readonly host: string;
  /** 0 when it did not come to that. */
  readonly port: number;
  /** Which rule was missing. */
  readonly missing: string;
  /** The narrowest rule that would allow it; empty when none would. */
  readonly rule: string;
  readonly message: string;
  readonly fix: string;
}

/** What no rule covers, and which part of it. */
export function denyTarget(target: Target, rules: readonly HostRule[]): EgressDenial {
  const onHost = rules.filter((rule) => coversHost(rule, target.host));
  const onPort = onHost.filter(({ ports }) => ports.includes(target.port));
  const written = formatTarget(target);
  const rule = formatHostRule(narrowestRule(target));
  if (onHost.length === 0) {
    return denial('egress.host_not_allowed', target, { missing: `a rule that covers ${written}`, rule });
  }
  if (onPort.length === 0) {
    const ports = [...new Set(onHost.flatMap((known) => known.ports))].join(', ');
    return denial('egress.port_not_allowed', target, {
      missing: `port ${target.port} of ${target.host} (allowed: ${ports})`,
      rule,
    });
  }
  const schemes = [...new Set(onPort.map(({ scheme }) => scheme))].join(', ');
  return denial('egress.scheme_not_allowed', target, {
    missing: `${target.scheme ?? 'this protocol'} to ${written} (allowed: ${schemes})`,
    rule,
  });
}

/** SECURITY: T-23 — says what kind of address it is and not which one: the tool shall not learn the network from us. */
export function denyAddress(target: Target, kind: AddressKind): EgressDenial {
  return denial('egress.address_not_allowed', target, {
    missing: `an exception for ${ADDRESS_WORDS[kind]}`,
    fix: 'Only the operator can open an address that is not public, in egress.private_ranges.',
  });
}

export interface DenialParts {
  readonly missing?: string;
  readonly rule?: string;
  readonly detail?: string;
  readonly fix?: string;
}

export function denial(
  code: EgressDenialCode,
  { host, port }: Pick<Target, 'host' | 'port'>,
  { missing = '', rule = '', detail, fix }: DenialParts = {},
): EgressDenial {
  const what = `${EGRESS_DENIALS[code].slice(0, -1)}: ${formatTarget({ host, port })}`;
  return {
    code,
    host,
    port,
    missing,
    rule,
    message: detail === undefined ? `${what}.` : `${what}, ${detail}.`,
    fix: fix ?? (rule === '' ? (FIXES[code] ?? 'Look at the log of palyrad.') : `Ask for ${rule}.`),
  };
}

const FIXES: Partial<Record<EgressDenialCode, string>> = {
  'egress.malformed_host': 'Write the host as example.com, 192.0.2.1 or [2001:db8::1].',
  'egress.malformed_request': 'Send HTTP/1.1 as RFC 9112 has it: one length, one Host, no folded lines.',
  'egress.unsupported': 'Use HTTP, CONNECT or the CONNECT of SOCKS5.',
  'egress.sni_mismatch': 'Open the connection for the host that the handshake names.',
  'egress.sni_missing': 'Use a TLS client that sends the server name.',
  'egress.ech_refused': 'Turn Encrypted ClientHello off in the client.',
  'egress.host_mismatch': 'Send the Host of the connection, or open one for the other host.',
  'egress.not_asked': 'Name the hosts when the call is proposed.',
  'egress.denied': 'Ask the operator, or do without this host.',
  'egress.too_many_connections': 'Close connections first, or use fewer at a time.',
  'egress.too_many_attempts': 'Find out why it tries so often.',
  'egress.too_many_bytes': 'Move less, or ask the operator for a higher limit.',
  'egress.too_slow': 'Try again; if it stays slow, ask for a higher limit.',
  'egress.not_resolved': 'See whether the name is right.',
  'egress.not_reached': 'See whether the host is up, and whether host and port are right.',
  'egress.bad_certificate': 'See whether the host is right; an authority of your own belongs in the settings.',
  'egress.bad_response': 'Ask whoever keeps the host to send HTTP/1.1 as RFC 9112 has it.',
  'egress.response_too_large': 'Ask for a part of it, or for a higher limit.',
  'egress.content_type_not_allowed': 'Ask for the types that you can use.',
  'egress.too_many_redirects': 'Ask for the last address itself.',
  'egress.cancelled': 'Ask again when you want it.',
};

const ADDRESS_WORDS: Readonly<Record<AddressKind, string>> = {
  public: 'a public address',
  unspecified: 'the unspecified address',
  loopback: 'a loopback address',
  private: 'a private address',
  'link-local': 'a link-local address',
  cgnat: 'an address of carrier-grade NAT',
  metadata: 'a metadata address of a cloud',
  multicast: 'a multicast address',
  broadcast: 'the broadcast address',
  documentation: 'an address of documentation',
  benchmark: 'an address of benchmarks',
  reserved: 'a reserved address',
  nat64: 'a NAT64 address',
  '6to4': 'a 6to4 address',
  teredo: 'a Teredo address',
  mapped: 'a mapped address',
  'not-an-address': 'what is no address',
};
