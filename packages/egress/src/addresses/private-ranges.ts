import { BlockList, isIP } from 'node:net';
import { EgressError } from '../egress-error.ts';
import { canonicalHost, isMalformed } from '../hosts/canonical-host.ts';
import { classifyAddress } from './classify-address.ts';

/** The operator's exceptions, ready to compare. */
export interface PrivateRanges {
  allows(address: string, port: number): boolean;
}

const CIDR = /^\[?([0-9a-f:.]+)\]?\/([0-9]{1,3})$/i;
const ADDRESS_AND_PORT = /^(\[[0-9a-f:.]+\]|[0-9.]+):([0-9]{1,5})$/i;

/** `10.0.0.0/8`, `fd00::/8`, `127.0.0.1:8080` or `[::1]:8080`. Throws `EgressError` `egress.bad_range`. */
export function createPrivateRanges(texts: readonly string[]): PrivateRanges {
  const networks = new BlockList();
  const exact = new Set<string>();
  for (const text of texts) {
    const network = CIDR.exec(text);
    if (network !== null) addNetwork(networks, text, network);
    else exact.add(exactlyOf(text));
  }
  return {
    allows(address, port) {
      if (exact.has(`${address} ${port}`)) return true;
      // SECURITY: T-23 — a network that happens to hold the clouds' metadata does not open it: that takes address and port.
      // Nor does its IPv6 spelling, which BlockList would compare as the IPv4 address in it: names have no use for one.
      if (['metadata', 'mapped'].includes(classifyAddress(address))) return false;
      return networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6');
    },
  };
}

function addNetwork(networks: BlockList, text: string, [, net = '', bits = '']: RegExpExecArray): void {
  const family = isIP(net);
  const prefix = Number(bits);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) throw badRange(text);
  networks.addSubnet(net, prefix, family === 4 ? 'ipv4' : 'ipv6');
}

function exactlyOf(text: string): string {
  const [, written = '', digits = ''] = ADDRESS_AND_PORT.exec(text) ?? [];
  const host = canonicalHost(written);
  const port = Number(digits);
  if (isMalformed(host) || host.kind === 'name' || host.isRewritten) throw badRange(text);
  if (port < 1 || port > 65_535) throw badRange(text);
  return `${host.host} ${port}`;
}

function badRange(text: string): EgressError {
  return new EgressError(
    'egress.bad_range',
    `${JSON.stringify(text.slice(0, 80))} is no exception for private addresses.`,
    {
      fix: 'Write a network as 10.0.0.0/8, or an address with a port as 127.0.0.1:8080.',
    },
  );
}
