import type { Clock, Logger } from '@palyra/primitives';
import { callOrder, fetchOrder } from './call-order.ts';
import type { EgressCall } from './egress-call.ts';
import { EgressError } from './egress-error.ts';
import type { FetchRequest, FetchResult } from './fetch-request.ts';
import type { GateLink } from './gate-link.ts';
import { createProxyLink, type OpenedEgress, type ProxyLink } from './proxy-link.ts';

export type { GateLink } from './gate-link.ts';
export type { OpenedEgress } from './proxy-link.ts';

export interface EgressDeps<Gate extends GateLink> {
  /** Starts `proxyProgram()`. */
  openGate(): Promise<Gate>;
  readonly logger: Logger;
  readonly clock: Clock;
}

export interface Egress<Gate extends GateLink = GateLink> {
  /** Before the sandbox starts. Throws `EgressError`: `egress.gate_failed`, `egress.bad_call`, `egress.bad_range`, `egress.closed`. */
  open(call: EgressCall): Promise<OpenedEgress<Gate>>;
  /** The same, known at once: a sandbox can be made with it, and its command begins when it is `opened`. Throws, and rejects, as `open`. */
  begin(call: EgressCall): Promise<BegunEgress<Gate>>;
  /** One HTTP request by the daemon itself under the same rules, through the same proxy. Throws as `open` does. */
  fetch(call: EgressCall, request: FetchRequest): Promise<FetchResult>;
  /** Several of one call: what it may use up, they use up together. Throws as `open` does. */
  openFetches(call: EgressCall): Promise<OpenedFetches>;
  /** Ends the proxy, and with it every connection. */
  close(): Promise<void>;
}

/** A way out of which the proxy is being told. */
export interface BegunEgress<Gate extends GateLink = GateLink> extends Pick<OpenedEgress<Gate>, 'gate' | 'label'> {
  /** SECURITY: T-22 — before that the proxy does not know whose connections these are. */
  readonly opened: Promise<OpenedEgress<Gate>>;
}

export interface OpenedFetches {
  /** Throws `EgressError` `egress.gate_failed` when the proxy is gone: another one would count anew. */
  fetch(request: FetchRequest): Promise<FetchResult>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

/** The proxy is started with the first call that needs it, and started again when it has died. */
export function createEgress<Gate extends GateLink>(deps: EgressDeps<Gate>): Egress<Gate> {
  let running: Promise<ProxyLink<Gate>> | undefined;
  let isClosed = false;

  function link(): Promise<ProxyLink<Gate>> {
    if (isClosed) return Promise.reject(closedError());
    if (running !== undefined) return running;
    const starting = start();
    running = starting;
    const forget = (): void => {
      if (running === starting) running = undefined;
    };
    starting.then(({ gate }) => gate.ended.then(forget, forget), forget);
    return starting;
  }

  async function start(): Promise<ProxyLink<Gate>> {
    try {
      return createProxyLink(await deps.openGate(), deps);
    } catch (cause) {
      throw new EgressError('egress.gate_failed', 'The proxy does not start, so there is no way out.', {
        fix: 'Look at the log of palyrad; commands without network still run.',
        cause,
      });
    }
  }

  async function begin(call: EgressCall): Promise<BegunEgress<Gate>> {
    const order = callOrder(call);
    const proxy = await link();
    const opened = proxy.open(order, call);
    // Heard of by whoever waits for it.
    opened.catch(() => undefined);
    return { gate: proxy.gate, label: call.label, opened };
  }

  async function open(call: EgressCall): Promise<OpenedEgress<Gate>> {
    return (await begin(call)).opened;
  }

  async function openFetches(call: EgressCall): Promise<OpenedFetches> {
    const order = callOrder(call);
    const proxy = await link();
    const opened = await proxy.open(order, call);
    return {
      fetch: async (request) => proxy.fetch(call.label, fetchOrder(request), request),
      async close() {
        await opened.close();
      },
    };
  }

  return {
    open,
    begin,
    openFetches,
    async fetch(call, request) {
      // Before anything is opened for it.
      fetchOrder(request);
      const opened = await openFetches(call);
      try {
        return await opened.fetch(request);
      } finally {
        await opened.close();
      }
    },
    async close() {
      isClosed = true;
      const proxy = await running?.catch(() => undefined);
      await proxy?.gate.close();
    },
  };
}

function closedError(): EgressError {
  return new EgressError('egress.closed', 'Egress is closed.', { fix: 'Start palyrad again.' });
}
