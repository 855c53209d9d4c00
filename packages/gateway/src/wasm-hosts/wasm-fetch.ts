import {
  type ConnectionAttempt,
  canonicalTarget,
  covers,
  type Egress,
  EgressError,
  type FetchRequest,
  type FetchResult,
  isMalformed,
  type OpenedFetches,
  type Target,
} from '@palyra/egress';
import { canonicalJson, type JsonObject, type JsonValue } from '@palyra/primitives';
import { ANSWER, type HostAnswer } from '@palyra/wasm';
import { egressCall } from '../connections/call-network.ts';
import { nameNetwork } from '../connections/named-network.ts';
import type { OperatorNetwork } from '../connections/operator-network.ts';
import type { Redactor } from '../redact/create-redactor.ts';
import { readRequest, whyNotInParts, whyNotWithSecret } from './guest-request.ts';
import type { GuestSecrets } from './guest-secrets.ts';
import { refused } from './wasm-keys.ts';

export interface FetchGrant {
  /** As the manifest has them. */
  readonly hosts: readonly string[];
  /** Absent: there are none. */
  readonly secrets?: GuestSecrets | undefined;
  /** Told again of the same one, by its number, as it goes on. */
  onAttempt(attempt: ConnectionAttempt): void;
}

/** What one call of a guest asks for: under the hosts of its module, and all of it within what one call may use up. */
export interface GuestRequests {
  fetch(request: JsonObject, signal: AbortSignal): Promise<HostAnswer>;
  /** The same with the secret on it that the request names. */
  useSecret(request: JsonObject, signal: AbortSignal): Promise<HostAnswer>;
  /** When the call is over. */
  close(): Promise<void>;
}

/** For one call. */
export type WasmFetch = (grant: FetchGrant) => GuestRequests;

export interface WasmFetchDeps {
  readonly egress: Pick<Egress, 'openFetches'>;
  readonly network: OperatorNetwork;
  readonly redactor: Masks;
}

type Masks = Pick<Redactor, 'maskHeld' | 'maskHeldBytes'>;

const MIB = 1024 * 1024;

/** SECURITY: T-23, T-27 — a redirect is held to the same hosts: nobody is asked about others, they are refused. */
export function createWasmFetch({ egress, network, redactor }: WasmFetchDeps): WasmFetch {
  return ({ hosts, secrets, onAttempt }) => {
    const named = nameNetwork(hosts, network.privateRanges);
    const rules = named.kind === 'named' ? named.rules : [];
    // SECURITY: T-17 — opened once, with the first request: bytes, attempts and connections are counted for all of them.
    let opened: Promise<OpenedFetches> | undefined;
    const send = async (request: FetchRequest): Promise<HostAnswer> => {
      opened ??= egress.openFetches(egressCall(network, { mode: 'strict', rules, onAttempt }));
      const sent = (await opened).fetch({ ...request, limits: { bodyBytes: MIB } });
      return answerOf(await sent.catch(notSent), redactor);
    };
    return {
      async fetch(written, signal) {
        const request = readRequest(written);
        if (typeof request === 'string') return refused(request);
        if (named.kind === 'malformed') return refused(named.message);
        const target = targetOf(request.url);
        // SECURITY: T-24 — what a host was told it may say to whoever asks: whole, so that it is found in there.
        const why = target !== undefined && secrets?.wasSentTo(target) === true ? whyNotInParts(request) : undefined;
        if (why !== undefined) return refused(why);
        return send({ ...request, signal });
      },
      async useSecret({ secret: name, ...written }, signal) {
        if (typeof name !== 'string') return refused('It names no secret.');
        const request = readRequest(written);
        if (typeof request === 'string') return refused(request);
        const target = targetOf(request.url);
        // SECURITY: T-24, T-27 — bound to that host and granted that host: both, before anything is connected to.
        const isGranted = target !== undefined && rules.some((rule) => covers(rule, target));
        const lent = isGranted ? await secrets?.lend(name, target) : undefined;
        if (lent === undefined) return NOT_LENT;
        const why = whyNotWithSecret(request, lent.headers);
        if (why !== undefined) return refused(why);
        return send({ ...request, signal, redirects: 'return', credential: lent.credential });
      },
      async close() {
        await opened?.then((each) => each.close()).catch(() => undefined);
      },
    };
  };
}

/** SECURITY: T-24 — one answer, whatever the reason: a guest cannot find out which secrets there are, nor for whom. */
const NOT_LENT: HostAnswer = {
  status: ANSWER.refused,
  body: Buffer.from(canonicalJson({ code: 'secret_refused', message: 'There is no such secret for that host.' })),
};

function targetOf(url: string): Target | undefined {
  const target = canonicalTarget(URL.parse(url)?.href ?? '');
  return isMalformed(target) ? undefined : target;
}

/** What is written in a way that cannot be sent is the guest's, and not a fault of ours. */
function notSent(error: unknown): HostAnswer {
  if (error instanceof EgressError && error.code === 'egress.bad_call') return refused(error.message);
  throw error;
}

/**
 * A refusal tells the guest what it tells everybody: code, host, and the rule that was missing. SECURITY: T-24 — no answer has a
 * secret in it that is held, also not one to a request without: a host may say later what it was told before.
 */
function answerOf(result: FetchResult | HostAnswer, masks: Masks): HostAnswer {
  if (!('kind' in result)) return result;
  if (result.kind !== 'response') {
    const status = result.kind === 'denied' ? ANSWER.refused : ANSWER.failed;
    return { status, body: Buffer.from(masks.maskHeld(canonicalJson({ ...result.denial }))) };
  }
  const { status, url, headers, body } = result;
  const told = {
    status,
    url: masks.maskHeld(url),
    headers: headers.map((pair): JsonValue => pair.map((text) => maskHeader(text, masks))),
    body_base64: Buffer.from(masks.maskHeldBytes(body)).toString('base64'),
  };
  return { status: ANSWER.done, body: Buffer.from(canonicalJson(told)) };
}

/** Bytes, each of which is written as one character. */
function maskHeader(text: string, { maskHeldBytes }: Masks): string {
  return Buffer.from(maskHeldBytes(Buffer.from(text, 'latin1'))).toString('latin1');
}
