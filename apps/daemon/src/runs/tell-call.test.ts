import type { ProposedCall, ToolCallResult } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { createEventRing, type NewEvent } from './event-ring.ts';
import { tellCall } from './tell-call.ts';

const RESULT = { call_id: 'c', outcome: { kind: 'completed' } } as ToolCallResult;

test('what a tool puts out is told in its order, also while readers are waited for', async () => {
  const told: NewEvent[] = [];
  const begin = { sequence: 1, time: 0, happened: { kind: 'run_ended' } } as never;
  const ring = createEventRing({ begin, first: 2, storedUpTo: 0, changed: () => undefined });
  const slow = Promise.withResolvers<void>();
  // As a command in a box does: the next pieces come while the first is waited for.
  const call = async ({ onOutput }: ProposedCall) => {
    const pieces = [97, 98, 99].map(async (byte) => onOutput?.('stdout', new Uint8Array(64 * 1024).fill(byte)));
    slow.resolve();
    await Promise.all(pieces);
    return RESULT;
  };
  await tellCall({ call }, { key: 'k', tool: 't', input: {} } as never, {
    ring: { ...ring, push: (event) => void told.push(event), hold: ring.hold },
    readers: { join: () => ({ took: () => undefined, leave: () => undefined }), caughtUp: () => slow.promise },
    clock: systemClock,
    after: 0,
    signal: new AbortController().signal,
    attached: {} as never,
  });
  const output = told.flatMap(({ happened }) =>
    happened.kind === 'output' ? [[happened.offset, String.fromCharCode(happened.bytes[0] ?? 0)]] : [],
  );
  const at = (nth: number) => nth * 32 * 1024;
  expect(output).toEqual(['a', 'a', 'b', 'b', 'c', 'c'].map((letter, nth) => [at(nth), letter]));
});

test('a result of which it was not known that it is on record is told when the same key asks again', async () => {
  const begin = { sequence: 1, time: 0, happened: { kind: 'run_ended' } } as never;
  const ring = createEventRing({ begin, first: 2, storedUpTo: 0, changed: () => undefined });
  const deps = {
    ring,
    readers: { join: () => ({ took: () => undefined, leave: () => undefined }), caughtUp: async () => undefined },
    clock: systemClock,
    after: 1,
    signal: new AbortController().signal,
    attached: {} as never,
  };
  const proposal = { key: 'k', tool: 't', input: {} } as never;
  let told = 0;
  const unknown = async ({ tellAt }: Omit<ProposedCall, 'run'>) => {
    const place = tellAt?.(0);
    told = place?.number ?? 0;
    place?.release();
    throw new Error('Nobody knows.');
  };
  await expect(tellCall({ call: unknown }, proposal, deps)).rejects.toThrow('Nobody knows.');
  const again = async ({ onEvent }: Omit<ProposedCall, 'run'>) => {
    onEvent?.({ kind: 'repeated', told });
    return RESULT;
  };
  await tellCall({ call: again }, proposal, deps);
  const kinds: string[] = [];
  for (let event = ring.after(1); event !== undefined && 'happened' in event; event = ring.after(event.sequence)) {
    kinds.push(event.happened.kind);
  }
  expect(kinds).toEqual(['rejected', 'result', 'attestation']);
});
