// T-39: a client floods a RunStream: calls without end, keys and messages that are none, a stream that begins twice.
import { RunService } from '@palyra/api';
import { expect, test } from 'vitest';
import { codeOf } from '../integration/api-place.ts';
import { isKind, openStream, propose, resume, type Said, start } from '../integration/api-stream.ts';
import { useApiPlace } from '../integration/api-test-place.ts';

const place = useApiPlace();

test('a run has so many calls under way and no more; those that are refused are told, and the others go on', async () => {
  const stream = openStream(place().client(RunService), start());
  for (let call = 0; call < 300; call += 1) stream.say(propose(`k${call}`, 'palyra.sleep', { ms: 3_600_000 }));
  await stream.until(isKind('proposalRejected', 'k299'));
  const rejected = stream.events.filter(isKind('proposalRejected'));
  expect(rejected).toHaveLength(44);
  expect(rejected[0]?.event.value).toMatchObject({ error: { code: 'daemon.too_many' } });
  stream.say({ case: 'cancelRun', value: {} });
  const results = (await stream.rest()).filter(isKind('result'));
  expect(results).toHaveLength(256);
});

const BAD: readonly (readonly [string, Said])[] = [
  ['a call without a key', propose('', 'palyra.echo', {})],
  ['a key of a megabyte', propose('k'.repeat(1024 * 1024), 'palyra.echo', {})],
  ['a key that hides something', propose('a\u202eb', 'palyra.echo', {})],
  ['a tool of a megabyte', propose('k', 'x'.repeat(1024 * 1024), {})],
  ['a second start', start()],
  ['a resume in the middle', resume('01ARYZ6S410000000000000000', 0n)],
];

test.each(BAD)('%s ends the stream with a word, and not the run', async (_what, message) => {
  const stream = openStream(place().client(RunService), start());
  const { event } = await stream.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  stream.say(message);
  expect(await stream.rest().then(() => 'taken', codeOf)).toBe('daemon.invalid_request');
  const again = openStream(place().client(RunService), resume(runId, 0n));
  again.say(propose('k', 'palyra.echo', { text: 'x' }));
  await again.until(isKind('attestation', 'k'));
  again.say({ case: 'endRun', value: {} });
  await again.rest();
});

test.each([
  ['nothing', propose('k', 'palyra.echo', {})],
  ['an id that is none', resume('../../x', 0n)],
  ['the largest number there is', resume('01ARYZ6S410000000000000000', 2n ** 64n - 1n)],
])('a stream that begins with %s is refused', async (_what, message) => {
  const code = await openStream(place().client(RunService), message)
    .rest()
    .then(() => 'taken', codeOf);
  expect(['daemon.invalid_request', 'primitives.invalid_id', 'gateway.run_not_found']).toContain(code);
});
