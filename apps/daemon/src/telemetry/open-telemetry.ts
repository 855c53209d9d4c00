import type { Config } from '@palyra/config';
import { type Clock, createLogger, reveal } from '@palyra/primitives';
import type { RpcObserver } from '../interceptors/observe.ts';
import type { CallObserver } from '../watch-calls.ts';
import { createMetrics, type Metrics } from './create-metrics.ts';

/** Everything that looks on. */
export interface Telemetry {
  readonly rpcs: readonly RpcObserver[];
  readonly calls: readonly CallObserver[];
  readonly metrics: Pick<Metrics, 'follow' | 'render'>;
  close(): Promise<void>;
}

export interface TelemetryDeps {
  readonly config: Pick<Config, 'telemetry' | 'log'>;
  readonly version: string;
  readonly clock: Clock;
}

/** First of all, because calls can be made as soon as there is a gateway. */
export async function openTelemetry({ config, version, clock }: TelemetryDeps): Promise<Telemetry> {
  const metrics = createMetrics(clock);
  const { traces_url: url } = config.telemetry;
  if (url === undefined) {
    return { rpcs: [metrics.rpcs], calls: [metrics.calls], metrics, close: async () => metrics.close() };
  }
  // Late: few ask for traces, and the library has many files.
  const [{ createTraces }, { exportSpans }] = await Promise.all([
    import('./create-traces.ts'),
    import('./export-spans.ts'),
  ]);
  const logger = createLogger({ level: config.log.level });
  const exporter = exportSpans({ url: reveal(url), version, clock, logger });
  const traces = createTraces({ exporter, clock });
  return {
    rpcs: [metrics.rpcs, traces.rpcs],
    calls: [metrics.calls, traces.calls],
    metrics,
    async close() {
      await exporter.close();
      metrics.close();
    },
  };
}
