import { type Clock, type RandomBytes, secureRandomBytes } from '@palyra/primitives';
import type { RpcObserver } from '../interceptors/observe.ts';
import type { CallObserver } from '../watch-calls.ts';
import type { SpanExporter } from './export-spans.ts';

/** Spans of calls of the API, and of tool calls with their steps. */
export interface Traces {
  readonly rpcs: RpcObserver;
  readonly calls: CallObserver;
}

export interface TracesDeps {
  readonly exporter: Pick<SpanExporter, 'add'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly random?: RandomBytes;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

/** What a step of a call leads to is the span from there to the next one. */
const STEPS = {
  accepted: 'decide',
  decided: 'approve',
  approval_requested: 'wait for a human',
  approval_decided: 'decide again',
  permitted: 'wait to be collected',
  started: 'execute',
  repeated: 'answer again',
} as const;

/** SECURITY: T-24 — names, ids and codes, and nothing that a call says or puts out. */
export function createTraces({ exporter, clock, random = secureRandomBytes }: TracesDeps): Traces {
  const hex = (bytes: number) => Buffer.from(random(bytes)).toString('hex');
  return {
    rpcs: {
      began({ rpc, peer, traceparent }) {
        const from = clock.now();
        const [, traceId = hex(16), parentSpanId] = TRACEPARENT.exec(traceparent ?? '') ?? [];
        return (code) =>
          exporter.add({
            traceId,
            spanId: hex(8),
            ...(parentSpanId === undefined ? {} : { parentSpanId }),
            name: rpc,
            kind: 'server',
            from,
            to: clock.now(),
            attributes: { 'palyra.code': code, 'palyra.principal': peer?.principal ?? '' },
            isFailed: code !== 'ok' && code !== 'canceled',
          });
      },
    },
    calls: {
      proposed({ run }) {
        const [traceId, spanId, from] = [hex(16), hex(8), clock.now()];
        let step = { name: 'admit', from };
        const endStep = () => {
          const span = { traceId, spanId: hex(8), parentSpanId: spanId, kind: 'internal', attributes: {} } as const;
          exporter.add({ ...span, name: step.name, from: step.from, to: clock.now(), isFailed: false });
        };
        return {
          step({ kind }) {
            endStep();
            step = { name: STEPS[kind], from: clock.now() };
          },
          ended(result) {
            endStep();
            const { tool = 'unknown', call_id: call = '', outcome } = result ?? {};
            const attributes = { 'palyra.run': run, 'palyra.call': call, 'palyra.outcome': outcome?.kind ?? 'none' };
            const isFailed = outcome?.kind !== 'completed';
            exporter.add({
              traceId,
              spanId,
              name: `call ${tool}`,
              kind: 'internal',
              from,
              to: clock.now(),
              attributes,
              isFailed,
            });
          },
        };
      },
    },
  };
}
