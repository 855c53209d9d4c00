import { isIP } from 'node:net';
import { parse } from 'tldts';
import { canonicalHost, isMalformed } from '../hosts/canonical-host.ts';
import { canonicalTarget, formatTarget, type Target } from '../hosts/target.ts';
import { FILE_ENDINGS, NETWORK_PROGRAMS, NOT_HOST_OPTIONS } from './network-programs.ts';

export interface RecognisedHosts {
  readonly targets: readonly Target[];
  /** What is in the place of a host and is none, as it was written. */
  readonly malformed: readonly string[];
}

/**
 * The hosts that a command line shows. It is a courtesy and no wall: a program can have its hosts from anywhere, and only
 * `strict` holds it to them. Rather one too many than one too few.
 */
export function recogniseHosts(argv: readonly string[]): RecognisedHosts {
  const found = new Map<string, Target>();
  const malformed = new Set<string>();
  for (const { word, before, after, port } of wordsOf(argv)) {
    for (const written of candidates({ word, before, after, port })) {
      const target = canonicalTarget(written.text, written.port);
      if (!isMalformed(target)) found.set(formatTarget(target), target);
      else if (written.isSure) malformed.add(written.text);
    }
  }
  return { targets: [...found.values()], malformed: [...malformed] };
}

export function hostsInArguments(argv: readonly string[]): readonly Target[] {
  return recogniseHosts(argv).targets;
}

interface Word {
  readonly word: string;
  readonly before: string;
  readonly after: string;
  /** Of the network program that stands before it; undefined when there is none. */
  readonly port: number | undefined;
}

/** SECURITY: T-21 — the words of a script in an argument are words too (`sh -c 'curl …'`). */
function wordsOf(argv: readonly string[]): readonly Word[] {
  const words = argv.flatMap((word) => (/[\s;|&<>()]/.test(word) ? [word, ...word.split(/[\s;|&<>()'"`]+/)] : [word]));
  let port: number | undefined;
  return words.map((word, index) => {
    const known = port;
    port = NETWORK_PROGRAMS.get(word.replace(/^.*\//s, '')) ?? port;
    return { word, before: words[index - 1] ?? '', after: words[index + 1] ?? '', port: known };
  });
}

interface Candidate {
  readonly text: string;
  readonly port: number;
  /** It stands where only a host can stand. */
  readonly isSure: boolean;
}

const URLS = /[a-z][a-z0-9+.-]*:\/\/[^\s'"<>`]+/gi;
const RESOLVE = /^(?:--resolve=)?[+-]?(\[[^\]]*\]|[^:]+):(\d+):(.+)$/s;
const CONNECT_TO = /^(?:--connect-to=)?(\[[^\]]*\]|[^:]*):(\d*):(\[[^\]]*\]|[^:]*):(\d*)$/s;

function candidates({ word, before, after, port }: Word): readonly Candidate[] {
  const urls = word.match(URLS);
  if (urls !== null) return urls.map((text) => ({ text, port: port ?? 443, isSure: true }));
  if (before === '--resolve' || word.startsWith('--resolve=')) return resolved(RESOLVE.exec(word));
  if (before === '--connect-to' || word.startsWith('--connect-to=')) return connected(CONNECT_TO.exec(word));
  const setting = /^-{0,2}(?:o)?([\w.-]*prox[\w.-]*)=(\S+)$/i.exec(word)?.[2];
  if (setting !== undefined) return sure(setting, 1080);
  if (before === '-J') return sure(word, 22);
  if (/^--?(?:x|[\w-]*(?:prox|socks)[\w-]*[\d.]*)$/i.test(before)) return sure(word, 1080);
  if (word.startsWith('-')) return port === undefined ? [] : attached(word, port);
  if (port !== undefined) return NOT_HOST_OPTIONS.has(before) ? [] : bare(word, { after, port });
  return plainly(word);
}

function sure(text: string, port: number): readonly Candidate[] {
  return text.split(',').map((part) => ({ text: part.slice(part.lastIndexOf('@') + 1), port, isSure: true }));
}

/** `host:port:address[,address]`: the name and where it shall lead. */
function resolved(match: RegExpExecArray | null): readonly Candidate[] {
  if (match === null) return [];
  const [, host = '', port = '', addresses = ''] = match;
  return [host, ...addresses.split(',')].map((text) => ({ text, port: Number(port), isSure: true }));
}

function connected(match: RegExpExecArray | null): readonly Candidate[] {
  if (match === null) return [];
  const [, host = '', port = '', otherHost = '', otherPort = ''] = match;
  const both = [
    { text: host, port: Number(port || '443'), isSure: false },
    { text: otherHost || host, port: Number(otherPort || port || '443'), isSure: true },
  ];
  return both.filter(({ text }) => text !== '');
}

/** `-xproxy.example:3128`, `--url=host`. */
function attached(word: string, port: number): readonly Candidate[] {
  const value = /^--[\w-]+=(.+)$/s.exec(word)?.[1] ?? /^-[A-Za-z](.{3,})$/s.exec(word)?.[1];
  return value === undefined ? [] : bare(value, { after: '', port });
}

interface Beside {
  readonly after: string;
  readonly port: number;
}

/** A word behind a program that talks to hosts. */
function bare(word: string, { after, port }: Beside): readonly Candidate[] {
  if (/^[./~@]|^\w+=\W|^$/.test(word)) return [];
  if (isIP(word) === 6) return [{ text: `[${word}]`, port: portBehind(after) ?? port, isSure: true }];
  const secure = /^([^@/\s]*@)?(\[[^\]]+\]|[^\s/:@[\]]+):(?![0-9]{1,5}(?:[/?]|$))\S*$/.exec(word);
  if (secure?.[2] !== undefined && looksLikeHost(secure[2], secure[1] !== undefined)) {
    return [{ text: secure[2], port: port === 80 || port === 443 ? 22 : port, isSure: true }];
  }
  const authority = (word.split(/[/?#]/)[0] ?? '').replace(/^.*@/s, '');
  const host = authority.replace(/:[0-9]{1,5}$/, '');
  if (!looksLikeHost(host, word.includes('@'))) return [];
  const next = host === authority ? portBehind(after) : undefined;
  return [{ text: authority, port: next ?? port, isSure: true }];
}

/** `nc host 80` */
function portBehind(after: string): number | undefined {
  return /^[0-9]{2,5}$/.test(after) ? Number(after) : undefined;
}

/** Whatever has a dot or a colon, an address in any disguise, and what stands behind an at sign. */
function looksLikeHost(word: string, isBehindAt: boolean): boolean {
  if (/^\d{1,7}$/.test(word)) return false;
  const host = canonicalHost(word);
  if (isMalformed(host)) return /^\[|%|^[\d.]+$/.test(word) && !/\s/.test(word);
  return host.kind !== 'name' || host.host.includes('.') || isBehindAt || host.host === 'localhost';
}

/** Behind any other program only what cannot well be something else. */
function plainly(word: string): readonly Candidate[] {
  const secure = /^[\w.-]+@(\[[^\]]+\]|[\w.-]+):(?!\/\/)\S*$/.exec(word)?.[1];
  if (secure !== undefined) return [{ text: secure, port: 22, isSure: true }];
  const value = word.replace(/^-{1,2}[\w-]+=|^[A-Za-z_]\w*=/, '');
  const host = value.replace(/:[0-9]{1,5}$/, '').replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0) return [{ text: isIP(value) === 6 ? `[${value}]` : value, port: 443, isSure: false }];
  if (!/^[^\s/@]+\.[^\s/@]+$/.test(host)) return [];
  const { isIcann, publicSuffix, domain } = parse(host.toLowerCase(), { validateHostname: true });
  const isFile = host === value && FILE_ENDINGS.has(publicSuffix ?? '') && host.split('.').length === 2;
  return isIcann === true && domain !== null && !isFile ? [{ text: value, port: 443, isSure: false }] : [];
}
