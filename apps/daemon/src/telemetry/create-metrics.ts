import type { Clock } from '@palyra/primitives';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { RpcObserver } from '../interceptors/observe.ts';
import type { CallObserver } from '../watch-calls.ts';

/** What palyrad counts, as Prometheus reads it. Labels are names of ours: no caller can make up a new one. */
export interface Metrics {
  readonly rpcs: RpcObserver;
  readonly calls: CallObserver;
  /** Looked up whenever somebody reads. */
  follow(name: GaugeName, read: () => number | Promise<number>): void;
  render(): Promise<{ readonly type: string; readonly text: string }>;
  close(): void;
}

export type GaugeName = keyof typeof GAUGES;

const GAUGES = {
  palyra_connections: 'Connections to the API.',
  palyra_rpcs_open: 'Calls of the API that have not ended.',
  palyra_calls_under_way: 'Tool calls that have no end yet.',
  palyra_calls_executing: 'Tool calls whose tool runs.',
  palyra_questions_open: 'Questions that wait for a human.',
} as const;

const RPC_SECONDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];
const CALL_SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600];

export function createMetrics(clock: Pick<Clock, 'now'>): Metrics {
  const registry = new Registry();
  // Ten times a second instead of a hundred: an idle daemon on a laptop shall let the processor sleep.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 100 });
  const registers = [registry];
  const rpcs = new Counter({
    name: 'palyra_rpcs_total',
    help: 'Calls of the API, by how they ended.',
    labelNames: ['rpc', 'code'],
    registers,
  });
  const rpcSeconds = new Histogram({
    name: 'palyra_rpc_seconds',
    help: 'How long calls of the API took.',
    labelNames: ['rpc'],
    buckets: RPC_SECONDS,
    registers,
  });
  const calls = new Counter({
    name: 'palyra_tool_calls_total',
    help: 'Tool calls, by what was decided and how they ended.',
    labelNames: ['tool', 'decision', 'outcome'],
    registers,
  });
  const callSeconds = new Histogram({
    name: 'palyra_tool_call_seconds',
    help: 'How long tool calls took, waiting for humans included.',
    labelNames: ['tool'],
    buckets: CALL_SECONDS,
    registers,
  });
  return {
    rpcs: {
      began({ rpc }) {
        const at = clock.now();
        return (code) => {
          rpcs.inc({ rpc, code });
          rpcSeconds.observe({ rpc }, (clock.now() - at) / 1000);
        };
      },
    },
    calls: {
      proposed() {
        const at = clock.now();
        return {
          step: () => undefined,
          ended(result) {
            // SECURITY: T-39 — the tool of the catalogue, or `unknown`: what an agent calls it would grow without end.
            const tool = result?.tool ?? 'unknown';
            const { decision, outcome } = result ?? {};
            calls.inc({ tool, decision: decision?.kind ?? 'none', outcome: outcome?.kind ?? 'none' });
            callSeconds.observe({ tool }, (clock.now() - at) / 1000);
          },
        };
      },
    },
    follow(name, read) {
      registry.registerMetric(
        new Gauge({
          name,
          help: GAUGES[name],
          registers: [],
          async collect() {
            this.set(await read());
          },
        }),
      );
    },
    async render() {
      return { type: registry.contentType, text: await registry.metrics() };
    },
    close: () => registry.clear(),
  };
}
