import { visibleText } from '@palyra/primitives';
import { EgressError, type EgressErrorCode } from '../egress-error.ts';
import { canonicalHost, type HostFault, isMalformed, type Malformed } from './canonical-host.ts';
import { formatHostRule, type HostRule } from './host-rule.ts';
import { isSharedSuffix } from './shared-suffix.ts';
import { SCHEME_PORTS, type Scheme } from './target.ts';

export type ReadRule =
  | { readonly kind: 'rule'; readonly rule: HostRule }
  | { readonly kind: 'refused'; readonly code: EgressErrorCode; readonly message: string; readonly fix: string };

const MOST_PORTS = 64;
const FORM = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(\*\.)?(\[[^\]]*\]|[^:/]*)(?::([0-9,]*))?$/i;

/** The one grammar of hosts: `[http://|https://](host | *.suffix | [IPv6])[:port[,port…]]`; without a port the scheme's, or 443. Never throws. */
export function readHostRule(text: string): ReadRule {
  const [, scheme, star, written = '', ports] = FORM.exec(text) ?? [];
  if (FORM.exec(text) === null) return refused('egress.bad_rule', text, 'is not a host, a suffix or an address');
  if (scheme !== undefined && !isScheme(scheme)) {
    return refused(
      'egress.bad_rule',
      text,
      'has a scheme that rules do not know',
      'Write HOST:PORT, http://HOST or https://HOST.',
    );
  }
  const host = canonicalHost(written);
  if (isMalformed(host)) return refused('egress.bad_host', text, FAULTS[host.fault]);
  // SECURITY: T-21 — an address is one only when written as one: `2130706433` in a rule is a trap for whoever reads it.
  if (host.kind === 'ipv4' && host.host !== written) {
    return refused('egress.bad_host', text, `is the address ${host.host} in disguise`, `Write ${host.host}.`);
  }
  const numbers = portsOf(ports, scheme);
  if (numbers === undefined) return refused('egress.bad_rule', text, 'has no ports between 1 and 65535');
  const rule: HostRule = {
    kind: star === undefined ? 'exact' : 'subdomains',
    host: host.host,
    ports: numbers,
    ...(scheme === undefined ? {} : { scheme: scheme.toLowerCase() as Scheme }),
  };
  return star === undefined ? { kind: 'rule', rule } : checkedSuffix(text, rule, host.kind);
}

/** Throws `EgressError`: `egress.bad_rule`, `egress.bad_host` or `egress.public_suffix`. */
export function parseHostRule(text: string): HostRule {
  const read = readHostRule(text);
  if (read.kind === 'rule') return read.rule;
  throw new EgressError(read.code, read.message, { fix: read.fix });
}

/** A list as the command line has it: `a.example,b.example:80,443`. A number alone belongs to the rule in front of it. */
export function parseHostRules(list: string): readonly HostRule[] {
  const rules = list.split(/,(?![0-9]+(?:,|$))/).map((text) => parseHostRule(text.trim()));
  return [...new Map(rules.map((rule) => [formatHostRule(rule), rule])).values()];
}

/** What is wrong with a host, as the end of a sentence. */
const FAULTS: Readonly<Record<HostFault, string>> = {
  empty: 'names no host',
  too_long: 'is longer than a host name can be',
  forbidden_character: 'has a character that no host has',
  zone_id: 'has a zone, which means something on one machine only',
  bad_address: 'is not an address',
  bad_label: 'is not a host name',
  bad_port: 'has no port between 1 and 65535',
  bad_scheme: 'has a scheme that is not known',
  credentials: 'has a user or password in front of the host',
};

/** For `Malformed`, a sentence and what to do. */
export function explainMalformed(
  text: string,
  { fault }: Malformed,
): { readonly message: string; readonly fix: string } {
  return {
    message: `${quoted(text)} ${FAULTS[fault]}.`,
    fix: 'Write the host as example.com, 192.0.2.1 or [2001:db8::1].',
  };
}

function isScheme(scheme: string): boolean {
  return /^https?$/i.test(scheme);
}

function portsOf(written: string | undefined, scheme: string | undefined): readonly number[] | undefined {
  if (written === undefined) return [SCHEME_PORTS[scheme?.toLowerCase() ?? 'https'] ?? 443];
  const texts = written.split(',');
  if (texts.length > MOST_PORTS || !texts.every((text) => /^[1-9][0-9]{0,4}$/.test(text))) return undefined;
  const ports = [...new Set(texts.map(Number))].toSorted((one, other) => one - other);
  return ports.every((port) => port <= 65_535) ? ports : undefined;
}

function checkedSuffix(text: string, rule: HostRule, kind: 'name' | 'ipv4' | 'ipv6'): ReadRule {
  if (kind !== 'name') return refused('egress.bad_rule', text, 'is a suffix of an address, which there is none of');
  // SECURITY: T-51 — a rule covers all that is below it, and so everybody who can have a name there.
  if (!isSharedSuffix(rule.host)) return { kind: 'rule', rule };
  return refused(
    'egress.public_suffix',
    text,
    `covers every name under ${rule.host}, where strangers can have one`,
    'Name the host, or a suffix that belongs to one owner.',
  );
}

function refused(code: EgressErrorCode, text: string, what: string, fix?: string): ReadRule {
  const remedy = fix ?? 'Write HOST, HOST:PORT, *.SUFFIX or https://HOST; several ports with commas.';
  return { kind: 'refused', code, message: `${quoted(text)} ${what}.`, fix: remedy };
}

/** Rules come from people and agents alike, so what they wrote is shown short and harmless. */
function quoted(text: string): string {
  return `"${visibleText(text, { maxCharacters: 120, isEmbedded: true })}"`;
}
