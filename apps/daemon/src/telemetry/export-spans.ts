import type { Clock, Logger } from '@palyra/primitives';
import { type FinishedSpan, renderSpans } from './render-spans.ts';

/** Sends spans in batches. What cannot be sent is dropped, and said once in a while: nothing ever waits for it. */
export interface SpanExporter {
  add(span: FinishedSpan): void;
  /** Sends what is left. */
  close(): Promise<void>;
}

export interface SpanExporterDeps {
  readonly url: string;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn'>;
}

const MOST_WAITING = 2_048;
const EVERY_MS = 5_000;
const PATIENCE_MS = 10_000;

export function exportSpans({ url, version, clock, logger }: SpanExporterDeps): SpanExporter {
  const { address, headers } = targetOf(url);
  const closing = new AbortController();
  let waiting: FinishedSpan[] = [];
  let dropped = 0;

  const send = async (): Promise<void> => {
    if (waiting.length === 0) return;
    const spans = waiting;
    waiting = [];
    try {
      const response = await fetch(address, {
        method: 'POST',
        headers,
        body: renderSpans(spans, version),
        // To the address that the operator wrote, and to none that is answered from there.
        redirect: 'error',
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`It answered with ${response.status}.`);
      dropped = 0;
    } catch (error) {
      if (dropped === 0) logger.warn({ error }, 'Spans could not be sent, and are dropped.');
      dropped += spans.length;
    }
  };
  const keepOn = async () => {
    while (!closing.signal.aborted) {
      await clock.sleep(EVERY_MS, closing.signal).catch(() => undefined);
      await send();
    }
  };
  const sending = keepOn();
  return {
    add(span) {
      // SECURITY: T-39 — a collector that does not keep up costs spans, not memory.
      if (waiting.length < MOST_WAITING) waiting.push(span);
      else dropped += 1;
    },
    async close() {
      closing.abort();
      await sending;
    },
  };
}

/** A name and password in the address become a header: `fetch` takes no such address. */
function targetOf(url: string): { readonly address: URL; readonly headers: Record<string, string> } {
  const address = new URL(url);
  const { username, password } = address;
  address.username = '';
  address.password = '';
  const headers = { 'content-type': 'application/json' };
  if (username === '') return { address, headers };
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, headers: { ...headers, authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}
