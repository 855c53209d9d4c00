import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunEvent, RunService } from '@palyra/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiPlace, openApi } from './api-place.ts';
import { isKind, kindOf, openStream, propose, resume, start, withoutTime } from './api-stream.ts';

let root: string;
let place: ApiPlace;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'palyra-api-'));
  place = await openApi({ root });
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
});

async function watched(runId: string, afterSequence = 0n, who: 'agent' | 'operator' = 'agent'): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for await (const { event } of place.client(RunService, who).watchRun({ runId, afterSequence })) {
    if (event !== undefined) events.push(event);
  }
  return events;
}

const CALLS = [
  propose('a', 'palyra.process.run', { argv: ['sh', '-c', 'echo one; echo two >&2; echo three'] }),
  propose('b', 'palyra.echo', { text: 'hi' }),
  // Refused, and told like all others.
  propose('c', 'palyra.nothing', {}),
];

/** Loses the connection when it has so many events, comes back with the last number, proposes again, and ends the run. */
async function playCutAfter(count: number): Promise<{ readonly got: readonly RunEvent[]; readonly runId: string }> {
  const stream = openStream(place.client(RunService), start());
  const { event: begun } = await stream.until(isKind('runStarted'));
  const runId = begun.case === 'runStarted' ? begun.value.runId : '';
  for (const call of CALLS) stream.say(call);
  await stream.until(() => stream.events.length >= count);
  const head = stream.events.slice(0, count);
  stream.drop();
  const again = openStream(place.client(RunService), resume(runId, head.at(-1)?.sequence ?? 0n));
  // As whoever does not know what became of them.
  for (const call of CALLS) {
    const isKnown = call.case === 'propose' && head.some(isKind('result', call.value.key));
    if (!isKnown) again.say(call);
  }
  const all = () => [...head, ...again.events];
  await again.until(() => ['a', 'b', 'c'].every((key) => all().some(isKind('attestation', key))));
  again.say({ case: 'endRun', value: {} });
  return { got: [...head, ...(await again.rest())], runId };
}

test('cut after any event and resumed, a client gets what it would have got uncut: nothing lost, nothing twice', async () => {
  for (let count = 1; count <= 14; count += 1) {
    const { got, runId } = await playCutAfter(count);
    expect([count, ...got.map(withoutTime)]).toEqual([count, ...(await watched(runId)).map(withoutTime)]);
    expect(
      got
        .filter(isKind('result'))
        .map(({ callKey }) => callKey)
        .toSorted(),
    ).toEqual(['a', 'b', 'c']);
  }
});

test('a resumed stream that has everything is told only what is new', async () => {
  const stream = openStream(place.client(RunService), start());
  stream.say(CALLS[1] ?? start());
  const { sequence } = await stream.until(isKind('attestation', 'b'));
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  stream.drop();
  const again = openStream(place.client(RunService), resume(runId, sequence));
  again.say({ case: 'endRun', value: {} });
  expect((await again.rest()).map(kindOf)).toEqual(['runEnded']);
  // Over, and still told to whoever has not heard it.
  const late = openStream(place.client(RunService), resume(runId, sequence));
  expect((await late.rest()).map(kindOf)).toEqual(['runEnded']);
  expect(await watched(runId, again.events.at(-1)?.sequence)).toEqual([]);
});

test('the same key again, by one who has its result, is answered once more and not made once more', async () => {
  const stream = openStream(place.client(RunService), start());
  const echo = CALLS[1] ?? start();
  stream.say(echo);
  const first = await stream.until(isKind('attestation', 'b'));
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  stream.drop();
  const again = openStream(place.client(RunService), resume(runId, first.sequence));
  again.say(echo);
  const result = await again.until(isKind('result', 'b'));
  expect(result.callId).toBe(first.callId);
  again.say(propose('b', 'palyra.echo', { text: 'other' }));
  const rejected = await again.until(isKind('proposalRejected', 'b'));
  expect(rejected.event.value).toMatchObject({ error: { code: 'gateway.key_reused' } });
  again.say({ case: 'endRun', value: {} });
  await again.rest();
});

test('all who listen hear the same, an operator among them', async () => {
  const stream = openStream(place.client(RunService), start());
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  const listeners = [watched(runId), watched(runId, 0n, 'operator')];
  for (const call of CALLS) stream.say(call);
  await stream.until(() => ['a', 'b', 'c'].every((key) => stream.events.some(isKind('attestation', key))));
  stream.say({ case: 'endRun', value: {} });
  const told = (await stream.rest()).map(withoutTime);
  for (const listener of listeners) expect((await listener).map(withoutTime)).toEqual(told);
});

const MIB = 1024 * 1024;

test('a program that writes much is heard whole by its caller; one who stands still misses output, and no end', async () => {
  const stream = openStream(place.client(RunService), start());
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  const watch = place.client(RunService, 'operator').watchRun({ runId })[Symbol.asyncIterator]();
  await watch.next();
  stream.say(propose('a', 'palyra.process.run', { argv: ['sh', '-c', `head -c ${12 * MIB} /dev/zero | tr '\\0' x`] }));
  await stream.until(isKind('attestation', 'a'));
  const written = stream.events.filter(isKind('output', 'a'));
  let offset = 0n;
  for (const { event: piece } of written) {
    if (piece.case !== 'output') continue;
    expect(piece.value.offset).toBe(offset);
    offset += BigInt(piece.value.data.length);
  }
  expect(offset).toBe(BigInt(12 * MIB));
  stream.say({ case: 'endRun', value: {} });
  await stream.rest();
  const seen: RunEvent[] = [];
  for (let next = await watch.next(); next.done !== true; next = await watch.next()) {
    if (next.value.event !== undefined) seen.push(next.value.event);
  }
  expect(seen.filter(isKind('output')).length).toBeLessThan(written.length);
  expect(seen.map(kindOf).filter((kind) => kind !== 'output')).toEqual(
    stream.events.map(kindOf).filter((kind) => kind !== 'output' && kind !== 'runStarted'),
  );
});

test('what is larger than a message comes cut, and says how much there is', async () => {
  const stream = openStream(place.client(RunService), start());
  stream.say(propose('a', 'palyra.process.run', { argv: ['sh', '-c', `head -c ${8 * MIB} /dev/zero | tr '\\0' x`] }));
  const { event } = await stream.until(isKind('result'));
  expect(event.value).toMatchObject({ outcome: { stdoutBytes: BigInt(8 * MIB) } });
  const shown = event.case === 'result' ? event.value.outcome?.stdout.length : 0;
  expect(shown).toBeGreaterThan(4 * MIB - 1024);
  expect(shown).toBeLessThanOrEqual(4 * MIB);
  stream.say({ case: 'endRun', value: {} });
  await stream.rest();
});
