import type { ConnectionAttempt, Egress, FetchResult, OpenedFetches } from '@palyra/egress';
import { canonicalJson, type JsonObject, type JsonValue } from '@palyra/primitives';
import { ANSWER, type HostAnswer } from '@palyra/wasm';
import { egressCall } from '../connections/call-network.ts';
import { nameNetwork } from '../connections/named-network.ts';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import { refused } from './wasm-keys.ts';

export interface FetchGrant {
  /** As the manifest has them. */
  readonly hosts: readonly string[];
  /** Told again of the same one, by its number, as it goes on. */
  onAttempt(attempt: ConnectionAttempt): void;
}

/** What one call of a guest asks for: under the hosts of its module, and all of it within what one call may use up. */
export interface GuestRequests {
  fetch(request: JsonObject, signal: AbortSignal): Promise<HostAnswer>;
  /** When the call is over. */
  close(): Promise<void>;
}

/** For one call. */
export type WasmFetch = (grant: FetchGrant) => GuestRequests;

export interface WasmFetchDeps {
  readonly egress: Pick<Egress, 'openFetches'>;
  readonly network: OperatorNetwork;
}

const MIB = 1024 * 1024;
const FIELDS = ['url', 'method', 'headers', 'body', 'body_base64'];

/** SECURITY: T-23, T-27 — a redirect is held to the same hosts: nobody is asked about others, they are refused. */
export function createWasmFetch({ egress, network }: WasmFetchDeps): WasmFetch {
  return ({ hosts, onAttempt }) => {
    const named = nameNetwork(hosts, network.privateRanges);
    // SECURITY: T-17 — opened once, with the first request: bytes, attempts and connections are counted for all of them.
    let opened: Promise<OpenedFetches> | undefined;
    return {
      async fetch(written, signal) {
        const request = readRequest(written);
        if (typeof request === 'string') return refused(request);
        if (named.kind === 'malformed') return refused(named.message);
        opened ??= egress.openFetches(egressCall(network, { mode: 'strict', rules: named.rules, onAttempt }));
        return answerOf(await (await opened).fetch({ ...request, signal, limits: { bodyBytes: MIB } }));
      },
      async close() {
        await opened?.then((each) => each.close()).catch(() => undefined);
      },
    };
  };
}

interface GuestRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** The request, or what is wrong with it. */
function readRequest(written: JsonObject): GuestRequest | string {
  const { url, method, headers, body, body_base64: base64 } = written;
  const unknown = Object.keys(written).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `A request has ${FIELDS.join(', ')}, and no ${JSON.stringify(unknown)}.`;
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url)) return 'The url is not one of http or https.';
  if (method !== undefined && typeof method !== 'string') return 'The method is no text.';
  if (headers !== undefined && !isRecordOfTexts(headers)) return 'The headers are no object of texts.';
  if ([body, base64].some((each) => each !== undefined && typeof each !== 'string')) return 'The body is no text.';
  if (body !== undefined && base64 !== undefined) return 'There are two bodies.';
  return {
    url,
    ...(method === undefined ? {} : { method }),
    ...(headers === undefined ? {} : { headers }),
    ...(typeof body === 'string' ? { body: Buffer.from(body) } : {}),
    ...(typeof base64 === 'string' ? { body: Buffer.from(base64, 'base64') } : {}),
  };
}

function isRecordOfTexts(value: JsonValue): value is Readonly<Record<string, string>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((each) => typeof each === 'string');
}

/** A refusal tells the guest what it tells everybody: code, host, and the rule that was missing. */
function answerOf(result: FetchResult): HostAnswer {
  if (result.kind !== 'response') {
    const status = result.kind === 'denied' ? ANSWER.refused : ANSWER.failed;
    return { status, body: Buffer.from(canonicalJson({ ...result.denial })) };
  }
  const { status, url, headers, body } = result;
  const told = {
    status,
    url,
    headers: headers.map(([name, value]): JsonValue => [name, value]),
    body_base64: Buffer.from(body).toString('base64'),
  };
  return { status: ANSWER.done, body: Buffer.from(canonicalJson(told)) };
}
