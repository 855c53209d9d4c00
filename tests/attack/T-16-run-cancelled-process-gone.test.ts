// T-16: a run is cancelled, and a process of it in Tier C goes on: in the foreground, in the background, or in a session of
// its own.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DaemonHouse, openDaemonHouse } from '../integration/daemon-house.ts';
import { processesWith, uniqueMark } from './sandboxed.ts';

const PATIENT = { timeout: 20_000 };
let house: DaemonHouse;

beforeEach(async () => {
  house = await openDaemonHouse();
});
afterEach(() => house.close());

const ENDLESS = 'while :; do sleep 1; done';
const WAYS: readonly (readonly [string, string])[] = [
  ['in the foreground', ENDLESS],
  ['and does not listen to signals', `trap '' TERM INT HUP; ${ENDLESS}`],
  ['in a session of its own', `setsid sh -c '${ENDLESS}' "$0" & wait`],
];

test.each(WAYS)('a process that runs %s is gone when its run is cancelled', async (_name, script) => {
  const { daemon, agent, workspace } = house;
  const mark = uniqueMark();
  const run = await daemon.gateway.startRun(agent, { workspace });
  const input = JSON.stringify({ argv: ['sh', '-c', script, mark] });
  const running = run.call({ tool: 'palyra.process.run', input });
  await vi.waitFor(() => expect(processesWith(mark).length).toBeGreaterThan(0), PATIENT);
  await run.cancel();
  // No waiting: when the run is over, so is everything that ran in it.
  expect(processesWith(mark)).toEqual([]);
  expect((await running).outcome).toMatchObject({ kind: 'cancelled', code: 'tool.cancelled' });
  const { entries } = await daemon.journal.query({ run: run.id, kinds: ['outcome', 'run.ended'] });
  expect(entries).toMatchObject([{ data: { outcome: 'cancelled' } }, { data: { reason: 'cancelled' } }]);
});
