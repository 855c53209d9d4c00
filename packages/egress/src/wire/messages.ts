import type { EgressDenial } from '../denial.ts';
import type { AskAnswer, ConnectionAttempt, EgressLimits } from '../egress-call.ts';
import type { FetchHop, FetchLimits } from '../fetch-request.ts';
import type { HostRule } from '../hosts/host-rule.ts';
import type { Target } from '../hosts/target.ts';

/** What the proxy knows of a call: everything of `EgressCall` that is data. */
export interface CallOrder {
  readonly label: string;
  readonly mode: 'strict' | 'none';
  readonly rules: readonly HostRule[];
  readonly privateRanges: readonly string[];
  readonly limits: EgressLimits;
  readonly pinned: Readonly<Record<string, readonly string[]>>;
  readonly encryptedHello: 'refuse' | 'allow';
  readonly terminate: readonly HostRule[];
  readonly authorities: readonly string[];
  readonly asks: boolean;
  readonly hasCredentials: boolean;
  /** Whether who says the word for it is put through to palyrad itself. */
  readonly hasDoor: boolean;
}

/** What is said of one connection that goes to palyrad itself, in either direction; its bytes are frames of bytes. */
export type DoorNews =
  /** So many bytes were taken, and so many more may come. */
  | { readonly say: 'door_taken'; readonly id: number; readonly bytes: number }
  /** Nothing more comes from here. */
  | { readonly say: 'door_end'; readonly id: number }
  /** It is gone. */
  | { readonly say: 'door_closed'; readonly id: number };

export interface FetchOrder {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** So many bytes of body follow as frames of bytes. */
  readonly bodyBytes: number;
  readonly limits: FetchLimits;
  readonly contentTypes: readonly string[] | undefined;
  readonly redirects: 'follow' | 'return';
  /** Whether it has one of its own: then it is asked for by the number of the fetch. */
  readonly hasCredential: boolean;
}

export type HeaderPairs = readonly (readonly [name: string, value: string])[];

export type ToProxy =
  | { readonly say: 'open'; readonly call: CallOrder }
  | { readonly say: 'close'; readonly label: string }
  | { readonly say: 'answer'; readonly id: number; readonly answer: AskAnswer }
  | { readonly say: 'credential'; readonly id: number; readonly headers: HeaderPairs | 'none' | 'failed' }
  | { readonly say: 'fetch'; readonly id: number; readonly label: string; readonly request: FetchOrder }
  | { readonly say: 'abort'; readonly id: number }
  | DoorNews;

export type FetchEnd =
  | {
      readonly kind: 'response';
      readonly status: number;
      readonly headers: HeaderPairs;
      readonly url: string;
      readonly hops: readonly FetchHop[];
    }
  | { readonly kind: 'denied' | 'failed'; readonly denial: EgressDenial; readonly hops: readonly FetchHop[] };

export type FromProxy =
  | { readonly say: 'opened'; readonly label: string; readonly caPem?: string }
  | { readonly say: 'not_opened'; readonly label: string; readonly message: string }
  | { readonly say: 'closed'; readonly label: string }
  | { readonly say: 'ask'; readonly id: number; readonly label: string; readonly target: Target }
  | { readonly say: 'withdraw'; readonly id: number }
  | {
      readonly say: 'credential';
      readonly id: number;
      readonly label: string;
      /** Of the one request that it is for; absent: of the call. */
      readonly fetch?: number;
      readonly target: Target;
    }
  | { readonly say: 'attempt'; readonly label: string; readonly attempt: ConnectionAttempt }
  | { readonly say: 'fetched'; readonly id: number; readonly end: FetchEnd }
  | { readonly say: 'door'; readonly id: number; readonly label: string }
  | DoorNews;

/**
 * The proxy reads what strangers send, so what it says is looked at before it is believed.
 * Returns undefined for what is no message of its.
 */
export function readFromProxy(value: unknown): FromProxy | undefined {
  if (!isRecord(value)) return undefined;
  switch (value['say']) {
    case 'opened':
      return isLabelled(value) && isOptional(value['caPem'], 'string') ? (value as FromProxy) : undefined;
    case 'closed':
      return isLabelled(value) ? (value as FromProxy) : undefined;
    case 'not_opened':
      return isLabelled(value) && typeof value['message'] === 'string' ? (value as FromProxy) : undefined;
    case 'ask':
      return isAboutTarget(value) ? (value as FromProxy) : undefined;
    case 'credential':
      return isAboutTarget(value) && (value['fetch'] === undefined || isCount(value['fetch']))
        ? (value as FromProxy)
        : undefined;
    case 'door':
      return isLabelled(value) && isNumbered(value) ? (value as FromProxy) : undefined;
    case 'door_taken':
      return isNumbered(value) && isCount(value['bytes']) ? (value as FromProxy) : undefined;
    case 'door_end':
    case 'door_closed':
    case 'withdraw':
      return isNumbered(value) ? (value as FromProxy) : undefined;
    case 'attempt':
      return isLabelled(value) && isAttempt(value['attempt']) ? (value as FromProxy) : undefined;
    case 'fetched':
      return isNumbered(value) && isFetchEnd(value['end']) ? (value as FromProxy) : undefined;
    default:
      return undefined;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isLabelled(value: Fields): boolean {
  return typeof value['label'] === 'string';
}

function isAboutTarget(value: Fields): boolean {
  return isLabelled(value) && isNumbered(value) && isTarget(value['target']);
}

function isNumbered(value: Fields): boolean {
  return isCount(value['id']);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isOptional(value: unknown, type: 'string' | 'boolean'): boolean {
  return value === undefined || typeof value === type;
}

function isTarget(value: unknown): boolean {
  if (!isRecord(value) || typeof value['host'] !== 'string' || value['host'].length > 253) return false;
  const { scheme } = value as { scheme?: unknown };
  return isCount(value['port']) && (scheme === undefined || scheme === 'http' || scheme === 'https');
}

const OUTCOMES: readonly unknown[] = ['allowed', 'denied', 'failed'];
const PROTOCOLS: readonly unknown[] = ['http', 'connect', 'socks5', 'fetch', 'unknown'];

function isAttempt(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const counts = ['number', 'at', 'port', 'bytesIn', 'bytesOut'].every((name) => isCount(value[name]));
  const optionalCounts = ['endedAt', 'requests', 'times'].every(
    (name) => value[name] === undefined || isCount(value[name]),
  );
  const texts =
    typeof value['host'] === 'string' && isOptional(value['address'], 'string') && isOptional(value['sni'], 'string');
  const words = OUTCOMES.includes(value['outcome']) && PROTOCOLS.includes(value['protocol']);
  const isDenied = value['denial'] === undefined || isDenial(value['denial']);
  return counts && optionalCounts && texts && words && isDenied && isOptional(value['asked'], 'boolean');
}

function isDenial(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value['port'])) return false;
  return ['code', 'host', 'missing', 'rule', 'message', 'fix'].every((name) => typeof value[name] === 'string');
}

function isFetchEnd(value: unknown): boolean {
  if (!isRecord(value) || !Array.isArray(value['hops']) || !value['hops'].every(isHop)) return false;
  if (value['kind'] === 'denied' || value['kind'] === 'failed') return isDenial(value['denial']);
  if (value['kind'] !== 'response') return false;
  const { headers } = value;
  return (
    isCount(value['status']) && typeof value['url'] === 'string' && Array.isArray(headers) && headers.every(isPair)
  );
}

function isHop(value: unknown): boolean {
  return isRecord(value) && typeof value['url'] === 'string' && isCount(value['status']);
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
}
