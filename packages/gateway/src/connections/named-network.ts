import { isIP } from 'node:net';
import {
  createPrivateRanges,
  formatTarget,
  type HostRule,
  isPublicAddress,
  readHostRule,
  type Target,
} from '@palyra/egress';

/** Hosts as a caller wrote them, in the one grammar that everything compares. */
export type NamedNetwork =
  | {
      readonly kind: 'named';
      readonly rules: readonly HostRule[];
      /** `host:port`, a line for each port: as policies, prompts and grants have them. */
      readonly hosts: readonly string[];
      readonly privateHosts: readonly string[];
    }
  | { readonly kind: 'malformed'; readonly at: number; readonly message: string; readonly fix: string };

/** `HOST`, `HOST:PORT,PORT`, `*.SUFFIX`, `https://HOST`. */
export function nameNetwork(written: readonly string[], privateRanges: readonly string[]): NamedNetwork {
  const rules: HostRule[] = [];
  for (const [at, text] of written.entries()) {
    const read = readHostRule(text);
    if (read.kind === 'refused') return { kind: 'malformed', at, message: read.message, fix: read.fix };
    rules.push(read.rule);
  }
  const targets = rules.flatMap((rule) => rule.ports.map((port) => ({ rule, port })));
  const named = targets.map(({ rule, port }) => ({ text: textOf(rule, port), target: { host: rule.host, port } }));
  const isPrivate = ({ target }: (typeof named)[number]) => isPrivateTarget(target, privateRanges);
  return {
    kind: 'named',
    rules,
    hosts: distinct(named.map(({ text }) => text)),
    privateHosts: distinct(named.filter(isPrivate).map(({ text }) => text)),
  };
}

/** `host:port`, as policies, prompts and records write it. */
export function hostAndPort(target: Pick<Target, 'host' | 'port'>): string {
  return formatTarget(target);
}

/** Names that are of one network, or of one machine. */
const LOCAL_NAMES = /(?:^|\.)(?:localhost|local|internal|localdomain|home\.arpa)$/;
const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata', 'metadata.google.internal', 'instance-data']);
const LOOPBACK = ['127.0.0.1', '::1'];

/** SECURITY: T-23 — by its name alone; where a public name leads is for the proxy to look at when it connects. */
export function isPrivateTarget({ host, port }: Target, privateRanges: readonly string[]): boolean {
  const exceptions = createPrivateRanges(privateRanges);
  if (isIP(host) !== 0) return !isPublicAddress(host) && !exceptions.allows(host, port);
  if (METADATA_NAMES.has(host)) return true;
  if (host === 'localhost') return !LOOPBACK.some((address) => exceptions.allows(address, port));
  // Where the operator opened something private, a name may lead there: the proxy looks at the address.
  return privateRanges.length === 0 && (LOCAL_NAMES.test(host) || !host.includes('.'));
}

function textOf({ kind, host }: HostRule, port: number): string {
  return kind === 'subdomains' ? `*.${host}:${port}` : formatTarget({ host, port });
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
