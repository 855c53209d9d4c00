import type { CallEvent, ToolCallResult } from '@palyra/gateway';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createTraces } from './create-traces.ts';
import { type FinishedSpan, renderSpans } from './render-spans.ts';

function traced() {
  const clock = createFakeClock();
  const spans: FinishedSpan[] = [];
  return { clock, spans, traces: createTraces({ clock, exporter: { add: (span) => void spans.push(span) } }) };
}

test('a call is one span with its steps below it', async () => {
  const { clock, spans, traces } = traced();
  const call = traces.calls.proposed({ run: 'R', tool: 'palyra.echo' });
  for (const kind of ['accepted', 'decided', 'started'] as const) {
    await clock.advance(10);
    call.step({ kind } as CallEvent);
  }
  await clock.advance(30);
  call.ended({ tool: 'palyra.echo', call_id: 'C', outcome: { kind: 'completed' } } as ToolCallResult);
  const [root] = spans.slice(-1);
  expect(spans.map(({ name, from, to }) => `${name} ${to - from}`)).toEqual([
    'admit 10',
    'decide 10',
    'approve 10',
    'execute 30',
    'call palyra.echo 60',
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(spans.slice(0, -1).map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([root?.spanId]));
});

test.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '0af7651916cd43dd8448eb211c80319c'],
  ['00-xyz-b7ad6b7169203331-01', undefined],
  [null, undefined],
])('a caller puts spans together by %s, or we begin anew', (traceparent, expected) => {
  const { spans, traces } = traced();
  traces.rpcs.began({ rpc: 'palyra.v1.ToolService.ListTools', peer: undefined, traceparent })('ok');
  const [span] = spans;
  expect(span?.traceId).toMatch(/^[0-9a-f]{32}$/);
  expect(expected === undefined ? span?.parentSpanId : span?.traceId).toBe(expected);
});

test('spans are written as OTLP wants them', () => {
  const span: FinishedSpan = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    name: 'execute',
    kind: 'server',
    from: 1_700_000_000_001,
    to: 1_700_000_000_002,
    attributes: { 'palyra.code': 'ok' },
    isFailed: true,
  };
  expect(JSON.parse(renderSpans([span], '0.1.0'))).toMatchObject({
    resourceSpans: [
      {
        resource: { attributes: [{ key: 'service.name', value: { stringValue: 'palyrad' } }, {}] },
        scopeSpans: [
          {
            spans: [
              {
                traceId: 'a'.repeat(32),
                kind: 2,
                startTimeUnixNano: '1700000000001000000',
                endTimeUnixNano: '1700000000002000000',
                status: { code: 2 },
              },
            ],
          },
        ],
      },
    ],
  });
});
