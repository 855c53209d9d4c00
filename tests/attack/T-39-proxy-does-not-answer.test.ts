/**
 * T-39: a proxy that is stopped, or kept busy by one call, answers nobody. Whoever opens or closes a call hears so in bounded
 * time, the proxy is ended, and what was under way is on record as ended.
 */
import { createEgress, DEFAULT_EGRESS_LIMITS, type EgressCall, type GateLink } from '@palyra/egress';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createFrameReader, jsonFrame } from '../../packages/egress/src/wire/frames.ts';

const CALL: EgressCall = {
  label: 'one-call-of-many-01',
  mode: 'strict',
  rules: [],
  privateRanges: [],
  limits: DEFAULT_EGRESS_LIMITS,
};

/** A gate whose proxy answers the openings, or nothing at all, and never a closing. */
function deafGate(answers: 'openings' | 'nothing') {
  const ended = Promise.withResolvers<void>();
  const listeners: ((bytes: Uint8Array) => void)[] = [];
  const read = createFrameReader();
  let isClosed = false;
  const gate: GateLink = {
    async write(bytes) {
      for (const frame of read(Buffer.from(bytes))) {
        const said = frame.kind === 'json' ? (frame.value as { say: string; call: { label: string } }) : undefined;
        if (answers === 'nothing' || said?.say !== 'open') continue;
        for (const listener of listeners) listener(jsonFrame({ say: 'opened', label: said.call.label }));
      }
    },
    onOutput: (listener) => void listeners.push(listener),
    ended: ended.promise,
    async close() {
      isClosed = true;
      ended.resolve();
    },
  };
  return { gate, isClosed: () => isClosed };
}

const logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
} as never;

async function settled() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('an opening that nobody answers fails, and the proxy is ended', async () => {
  const clock = createFakeClock();
  const { gate, isClosed } = deafGate('nothing');
  const egress = createEgress({ openGate: async () => gate, logger, clock });
  const opening = egress.open(CALL).then(
    () => 'opened',
    (error: unknown) => (error as { code: string }).code,
  );
  await settled();
  await clock.advance(10_000);
  expect(await opening).toBe('egress.gate_failed');
  expect(isClosed()).toBe(true);
});

test('a call that cannot be closed is over all the same', async () => {
  const clock = createFakeClock();
  const { gate, isClosed } = deafGate('openings');
  const egress = createEgress({ openGate: async () => gate, logger, clock });
  const opened = await egress.open(CALL);
  const closing = opened.close();
  await settled();
  await clock.advance(10_000);
  expect(await closing).toEqual([]);
  expect(isClosed()).toBe(true);
});
