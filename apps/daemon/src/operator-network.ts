import { readFileSync } from 'node:fs';
import type { Config } from '@palyra/config';
import { canonicalHost, createPrivateRanges, formatTarget, isMalformed, parseHostRule } from '@palyra/egress';
import { DEFAULT_OPERATOR_NETWORK, GatewayError, type OperatorNetwork } from '@palyra/gateway';
import { itemsOf } from './listed-items.ts';

const MIB = 1024 * 1024;

/** Throws `egress.bad_range`, `egress.bad_host`, `egress.bad_rule`, `gateway.invalid_config`: then palyrad does not start. */
export function operatorNetwork({ egress, approvals }: Pick<Config, 'egress' | 'approvals'>): OperatorNetwork {
  const privateRanges = itemsOf(egress.private_ranges);
  createPrivateRanges(privateRanges);
  return {
    privateRanges,
    registryHosts: itemsOf(egress.registries).flatMap(hostsOf),
    pinned: pinnedBy(itemsOf(egress.hosts)),
    authorities: egress.authorities === '' ? [] : [authoritiesIn(egress.authorities)],
    unlisted: approvals.unattended === 'deny' ? 'deny' : egress.unlisted,
    limits: {
      ...DEFAULT_OPERATOR_NETWORK.limits,
      connections: egress.connections,
      bytesIn: egress.megabytes_in * MIB,
      bytesOut: egress.megabytes_out * MIB,
    },
  };
}

function hostsOf(text: string): readonly string[] {
  const { kind, host, ports } = parseHostRule(text);
  if (kind === 'exact') return ports.map((port) => formatTarget({ host, port }));
  throw invalid(`${JSON.stringify(text)} is a suffix; a registry is a host.`, 'Write HOST:PORT.');
}

function pinnedBy(items: readonly string[]): OperatorNetwork['pinned'] {
  const pinned: Record<string, string[]> = {};
  for (const item of items) {
    const [name = '', address = ''] = item.split('=');
    const host = canonicalHost(name.trim());
    const to = canonicalHost(address.trim());
    if (isMalformed(host) || isMalformed(to) || host.kind !== 'name' || to.kind === 'name') {
      throw invalid(`${JSON.stringify(item)} is no name with its address.`, 'Write NAME=ADDRESS in egress.hosts.');
    }
    pinned[host.host] = [...(pinned[host.host] ?? []), to.host];
  }
  return pinned;
}

function authoritiesIn(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch (cause) {
    throw new GatewayError('gateway.invalid_config', 'The file in egress.authorities cannot be read.', {
      fix: 'Check its path and its permissions.',
      cause,
    });
  }
  throw invalid('The file in egress.authorities holds no certificate.', 'It holds PEM: -----BEGIN CERTIFICATE-----.');
}

function invalid(sentence: string, fix: string): GatewayError {
  return new GatewayError('gateway.invalid_config', sentence, { fix });
}
