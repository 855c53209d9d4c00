import type { AdoptedRun, RunFollower } from '@palyra/gateway';
import { createIdSource, type RunId } from '@palyra/primitives';
import { createFakeClock } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { createRunHubs } from './run-hubs.ts';

const MINUTE = 60_000;
const ids = createIdSource();

/** Runs that know only whether they were cancelled. */
function createPlace(open: readonly RunId[] = []) {
  const clock = createFakeClock();
  const cancelled: RunId[] = [];
  const runs = new Map<RunId, AdoptedRun>();
  const adoptRun = async (id: RunId): Promise<AdoptedRun> => {
    let follower: RunFollower | undefined;
    const run: AdoptedRun = runs.get(id) ?? {
      id,
      session: ids.newId('session'),
      workspace: { id: 'work', root: '/work' },
      startedAt: 0,
      generation: 1,
      async cancel() {
        cancelled.push(id);
        follower?.endAt();
        follower?.over({ outcome: 'cancelled', calls: 0 });
      },
      end: async () => follower?.over({ outcome: 'completed', calls: 0 }),
      follow(next) {
        follower = next;
      },
    };
    runs.set(id, run);
    return run;
  };
  const hubs = createRunHubs({
    gateway: { adoptRun, openRuns: async () => open, told: async () => [] },
    clock,
    logger: { error: () => undefined },
    orphanMs: 10 * MINUTE,
    patienceMs: 1000,
  });
  return { clock, cancelled, hubs, adoptRun };
}

test('a run that all have left is cancelled after a while, and not before', async () => {
  const { clock, cancelled, hubs } = createPlace();
  const run = ids.newId('run');
  const [one, other] = [hubs.attend(run), hubs.attend(run)];
  one.leave();
  one.leave();
  await clock.advance(11 * MINUTE);
  expect(cancelled).toEqual([]);
  other.leave();
  await clock.advance(10 * MINUTE - 1);
  expect(cancelled).toEqual([]);
  await clock.advance(1);
  expect(cancelled).toEqual([run]);
});

test('whoever comes back in time keeps it, as often as they do', async () => {
  const { clock, cancelled, hubs } = createPlace();
  const run = ids.newId('run');
  for (let time = 0; time < 5; time += 1) {
    hubs.attend(run).leave();
    await clock.advance(9 * MINUTE);
  }
  expect(cancelled).toEqual([]);
});

test('what an earlier process left open is cancelled unless somebody comes back', async () => {
  const [left, wanted] = [ids.newId('run'), ids.newId('run')];
  const { clock, cancelled, hubs } = createPlace([left, wanted]);
  await hubs.expectOwners();
  hubs.attend(wanted);
  await clock.advance(10 * MINUTE);
  expect(cancelled).toEqual([left]);
});

test('a run that is over, and a palyrad that ends, leave no timer behind', async () => {
  const { clock, cancelled, hubs, adoptRun } = createPlace();
  const run = await adoptRun(ids.newId('run'));
  hubs.of(run);
  const here = hubs.attend(run.id);
  await run.end();
  here.leave();
  hubs.attend(ids.newId('run')).leave();
  hubs.close();
  await clock.advance(20 * MINUTE);
  expect(cancelled).toEqual([]);
  expect(clock.dueTimes()).toEqual([]);
});

test('a run that is over is told for a minute from memory, and then from the record', async () => {
  const { clock, hubs, adoptRun } = createPlace();
  const run = await adoptRun(ids.newId('run'));
  const hub = hubs.of(run);
  await run.cancel();
  expect(hubs.of(run)).toBe(hub);
  await clock.advance(MINUTE);
  const known = {
    ...run,
    principal: 'agent:a',
    credential: 'c',
    end: { outcome: 'cancelled', calls: 0, at: 5, told: 2 ** 40 },
  };
  const events = [];
  const options = { after: 0, signal: new AbortController().signal, isWaitedFor: false };
  for await (const event of await hubs.events(known, options)) events.push(event);
  expect(events.map(({ sequence, happened }) => [sequence, happened.kind])).toEqual([
    [2 ** 32 + 2 ** 16, 'run_started'],
    [2 ** 40, 'run_ended'],
  ]);
});
