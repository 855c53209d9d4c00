import { isMalformed, type Malformed } from '../hosts/canonical-host.ts';
import { canonicalAuthority, inBrackets, SCHEME_PORTS, type Scheme, type Target } from '../hosts/target.ts';
import { BadHead, onlyHeader, type RequestHead } from './http-head.ts';

/** What a request is for, and what is asked of it. */
export interface RequestTarget {
  readonly target: Target;
  /** For the next one's request line. */
  readonly path: string;
}

/** The Host header is not that of the target. */
export class OtherHost extends Error {
  readonly named: string;

  constructor(named: string) {
    super('The Host header names another host.');
    this.named = named;
  }
}

/** A host that has no meaning, or more than one. */
export class BadTarget extends Error {
  readonly written: string;
  readonly fault: Malformed;

  constructor(written: string, fault: Malformed) {
    super('The host is not one.');
    this.written = written;
    this.fault = fault;
  }
}

const ABSOLUTE = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([/?][^#]*)?$/i;

/** `CONNECT host:port`. The Host header, when there is one, has to agree. */
export function connectTarget({ target: written, headers }: RequestHead): Target {
  const target = known(written, canonicalAuthority(written));
  const host = onlyHeader(headers, 'host');
  if (host !== undefined && host !== '') {
    const named = canonicalAuthority(host);
    const withoutPort = canonicalAuthority(host, 'https');
    // Clients write it with the port and without it.
    const isSame = [named, withoutPort].some((other) => !isMalformed(other) && other.host === target.host);
    if (!isSame) throw new OtherHost(host);
  }
  return target;
}

/** `GET http://host/path`, as clients send it to a proxy. */
export function absoluteTarget(head: RequestHead): RequestTarget {
  const [, scheme, authority = '', rest = ''] = ABSOLUTE.exec(head.target) ?? [];
  if (scheme === undefined) throw new BadHead('it is not in the form that proxies take');
  if (scheme.toLowerCase() !== 'http')
    throw new BadHead('only http is asked for in this form; for TLS there is CONNECT');
  if (authority.includes('@')) throw new BadTarget(authority, { kind: 'malformed', fault: 'credentials' });
  const target = known(authority, canonicalAuthority(authority, 'http'));
  checkHost(head, target);
  return { target, path: pathOf(rest, head.method) };
}

/** `GET /path` inside a connection whose host is settled. */
export function originTarget(head: RequestHead, target: Target): RequestTarget {
  const isPath = head.target.startsWith('/') && !head.target.includes('#');
  if (!isPath && !(head.target === '*' && head.method === 'OPTIONS')) throw new BadHead('it does not ask for a path');
  checkHost(head, target);
  return { target, path: head.target };
}

/** The Host header that goes on. */
export function hostHeader({ host, port, scheme }: Target): string {
  const isDefault = port === SCHEME_PORTS[scheme ?? 'http'];
  return isDefault ? inBrackets(host) : `${inBrackets(host)}:${port}`;
}

/** SECURITY: T-25 — who decides by the target and who serves by the Host must mean the same one. */
function checkHost({ headers, minor }: RequestHead, target: Target): void {
  const host = onlyHeader(headers, 'host');
  if (host === undefined) {
    if (minor === 0) return;
    throw new BadHead('it has no Host');
  }
  const scheme: Scheme = target.scheme ?? 'http';
  const named = canonicalAuthority(host, scheme);
  if (isMalformed(named)) throw new BadTarget(host, named);
  if (named.host !== target.host || named.port !== target.port) throw new OtherHost(host);
}

function known(written: string, target: Target | Malformed): Target {
  if (isMalformed(target)) throw new BadTarget(written, target);
  return target;
}

function pathOf(rest: string, method: string): string {
  if (rest === '') return method === 'OPTIONS' ? '*' : '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** What a tool wrote, fit for a record. */
export function harmless(written: string): string {
  return written.replaceAll(/[^!-~]/g, '?').slice(0, 253);
}
