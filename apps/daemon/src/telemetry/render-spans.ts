/** A span that has ended, as OTLP wants to know it. */
export interface FinishedSpan {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 'internal' | 'server';
  /** Milliseconds since the Unix epoch. */
  readonly from: number;
  readonly to: number;
  readonly attributes: Readonly<Record<string, string>>;
  readonly isFailed: boolean;
}

const KINDS = { internal: 1, server: 2 } as const;
const [UNSET, FAILED] = [0, 2];

/** OTLP/HTTP in JSON: https://opentelemetry.io/docs/specs/otlp/ */
export function renderSpans(spans: readonly FinishedSpan[], version: string): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': 'palyrad', 'service.version': version }) },
        scopeSpans: [{ scope: { name: 'palyra' }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

function spanOf({ traceId, spanId, parentSpanId, name, kind, from, to, attributes, isFailed }: FinishedSpan): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(from),
    endTimeUnixNano: nanoseconds(to),
    attributes: attributesOf(attributes),
    status: { code: isFailed ? FAILED : UNSET },
  };
}

/** As text: no number of JSON holds them. */
function nanoseconds(ms: number): string {
  return `${Math.trunc(ms)}000000`;
}

function attributesOf(attributes: Readonly<Record<string, string>>): readonly object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }));
}
