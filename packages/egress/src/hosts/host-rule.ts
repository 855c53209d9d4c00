import { inBrackets, SCHEME_PORTS, type Scheme, type Target } from './target.ts';

/** One line of what may be reached. Only `parseHostRule` makes one from text. */
export interface HostRule {
  /** `subdomains` is `*.suffix`: every name below the suffix, and never the suffix itself. */
  readonly kind: 'exact' | 'subdomains';
  /** In its one spelling; without the `*.`, and without brackets. */
  readonly host: string;
  /** Ascending, each once, at least one. */
  readonly ports: readonly number[];
  /** Only this protocol; absent: whatever is spoken on that port. */
  readonly scheme?: Scheme;
}

/** The canonical text: `host:443`, `*.suffix:80,443`, `https://host`, `[2001:db8::1]:443`. Parsing it gives the rule again. */
export function formatHostRule({ kind, host, ports, scheme }: HostRule): string {
  const name = kind === 'subdomains' ? `*.${host}` : inBrackets(host);
  if (scheme === undefined) return `${name}:${ports.join(',')}`;
  const isDefault = ports.length === 1 && ports[0] === SCHEME_PORTS[scheme];
  return `${scheme}://${name}${isDefault ? '' : `:${ports.join(',')}`}`;
}

/**
 * Whether a connection may begin. A target without a scheme is covered by a rule with one: what is spoken then has to be
 * that, which `schemesFor` tells.
 */
export function covers(rule: HostRule, target: Target): boolean {
  return coversHost(rule, target.host) && rule.ports.includes(target.port) && agree(rule.scheme, target.scheme);
}

export function coversHost({ kind, host }: HostRule, name: string): boolean {
  if (kind === 'exact') return name === host;
  // SECURITY: T-21 — below the suffix at a dot, never the suffix itself and never another name that ends alike.
  return name.length > host.length + 1 && name.endsWith(host) && name[name.length - host.length - 1] === '.';
}

/** What may be spoken on a connection that the rules cover: `any`, or only these protocols. */
export function schemesFor(rules: readonly HostRule[], target: Target): 'any' | readonly Scheme[] {
  const covering = rules.filter((rule) => covers(rule, target));
  const schemes = covering.map(({ scheme }) => scheme);
  if (schemes.includes(undefined)) return 'any';
  return [...new Set(schemes.filter((scheme) => scheme !== undefined))];
}

/** The rule that allows this target and nothing else. */
export function narrowestRule({ host, port }: Target): HostRule {
  return { kind: 'exact', host, ports: [port] };
}

function agree(wanted: Scheme | undefined, spoken: Scheme | undefined): boolean {
  return wanted === undefined || spoken === undefined || wanted === spoken;
}
