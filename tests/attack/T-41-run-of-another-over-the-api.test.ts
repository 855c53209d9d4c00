// T-41: somebody who learned the id of a run resumes, watches, feeds, cancels or ends it with another credential, or goes on
// with its session.
import { RunService } from '@palyra/api';
import { createIdSource } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { codeOf } from '../integration/api-place.ts';
import { isKind, kindOf, openStream, propose, resume, start } from '../integration/api-stream.ts';
import { useApiPlace } from '../integration/api-test-place.ts';

const place = useApiPlace();

const refusal = (attempt: Promise<unknown>) => attempt.then(() => 'taken', codeOf);

test('with another credential a run is not there, whatever is tried, and nothing happens to it', async () => {
  const own = openStream(place().client(RunService), start());
  const { event } = await own.until(isKind('runStarted'));
  const { runId, sessionId } = event.case === 'runStarted' ? event.value : { runId: '', sessionId: '' };
  own.say(propose('a', 'palyra.sleep', { ms: 3_600_000 }));
  await own.until(isKind('executionStarted', 'a'));

  const other = place().client(RunService, 'stranger');
  const attemptsAt = (id: string): Readonly<Record<string, () => Promise<unknown>>> => ({
    resume: () => openStream(other, resume(id, 0n)).rest(),
    watch: async () => {
      for await (const told of other.watchRun({ runId: id })) throw new Error(`told ${JSON.stringify(told.$typeName)}`);
    },
    call: () =>
      other.callTool({ runId: id, proposal: { key: 'a', tool: 'palyra.sleep', inputJson: '{"ms":3600000}' } }),
    feed: () => other.feedCall({ runId: id, input: { key: 'a', input: { case: 'signal', value: 'SIGTERM' } } }),
    cancelCall: () => other.cancelCall({ runId: id, key: 'a' }),
    cancelRun: () => other.cancelRun({ runId: id }),
    end: () => other.endRun({ runId: id }),
  });
  const missing = createIdSource().newId('run');
  for (const id of [runId, missing]) {
    for (const [name, attempt] of Object.entries(attemptsAt(id))) {
      expect([name, await refusal(attempt())]).toEqual([name, 'gateway.run_not_found']);
    }
  }
  expect(await refusal(other.startRun({ sessionId }))).toBe('gateway.session_not_found');
  expect(own.events.some(isKind('result'))).toBe(false);

  own.say({ case: 'cancelCall', value: { key: 'a' } });
  await own.until(isKind('attestation', 'a'));
  own.say({ case: 'endRun', value: {} });
  await own.rest();
  // Nor when it is over and only on record.
  for (const [name, attempt] of Object.entries(attemptsAt(runId))) {
    expect([name, await refusal(attempt())]).toEqual([name, 'gateway.run_not_found']);
  }
});

test('an operator sees and cancels it, and does not call in its name', async () => {
  const own = openStream(place().client(RunService), start());
  const { event } = await own.until(isKind('runStarted'));
  const runId = event.case === 'runStarted' ? event.value.runId : '';
  const operator = place().client(RunService, 'operator');
  const proposal = { key: 'a', tool: 'palyra.echo', inputJson: '{"text":"x"}' };
  expect(await refusal(operator.callTool({ runId, proposal }))).toBe('gateway.run_not_found');
  expect(await refusal(operator.endRun({ runId }))).toBe('gateway.run_not_found');
  await operator.cancelRun({ runId });
  expect((await own.rest()).map(kindOf)).toEqual(['runStarted', 'runEnded']);
  const seen: string[] = [];
  for await (const { event: told } of operator.watchRun({ runId })) if (told !== undefined) seen.push(kindOf(told));
  expect(seen).toEqual(['runStarted', 'runEnded']);
});
