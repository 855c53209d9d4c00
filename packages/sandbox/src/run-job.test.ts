import { setImmediate as afterOthers } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { RawFacts } from './facts/raw-facts.ts';
import type { LaunchPlan } from './launch-plan.ts';
import type { EndReport } from './launcher/decode-reports.ts';
import type { JobEvents, Launcher } from './launcher/start-launcher.ts';
import { runJob } from './run-job.ts';

const PLAN = { executor: 'test', enforcement: {}, expected: {}, rlimits: [], staged: [] } as unknown as LaunchPlan;
const ENDED = { reason: 'cancelled', started: false, cgroupFiles: {} } as unknown as EndReport;
/** As of a sandbox that is gone: nothing of it can be read. */
const UNREADABLE = {} as RawFacts;

/** A launcher that does what it is told here, and tells what it was told. */
function begin(signal: AbortSignal, more: { readonly mayBegin?: Promise<void>; now?(): number } = {}) {
  const said: string[] = [];
  let events: JobEvents | undefined;
  const say = (what: string) => () => void said.push(what);
  const deaf = { allow() {}, write() {}, endInput() {}, resize() {}, signal() {} };
  const job = { number: 1, go: say('go'), kill: say('kill'), ...deaf };
  const start: Launcher['start'] = (_, heard) => {
    events = heard;
    return job;
  };
  const held = more.mayBegin === undefined ? {} : { mayBegin: more.mayBegin };
  const launcher = { start, about: {} } as unknown as Launcher;
  const stampFiles = { identity: () => undefined, mountTable: () => undefined };
  const context = {
    launcher,
    stampFiles,
    now: more.now ?? (() => 0),
    cgroupDriver: 'none',
    readText: () => undefined,
  } as const;
  const result = runJob(PLAN, { signal, onStart: say('started'), ...held }, context);
  return { said, result, hear: () => events as JobEvents };
}

it('is cancelled, whatever is found in a sandbox that is being ended meanwhile', async () => {
  const caller = new AbortController();
  const { said, result, hear } = begin(caller.signal);
  hear().facts(UNREADABLE);
  caller.abort();
  for (let turn = 0; turn < 10; turn += 1) await afterOthers();
  hear().ended(ENDED);
  expect((await result).kind).toBe('cancelled');
  expect(new Set(said)).toEqual(new Set(['kill']));
});

it('is refused when its facts cannot be read, and nobody cancelled it', async () => {
  const { said, result, hear } = begin(new AbortController().signal);
  hear().facts(UNREADABLE);
  for (let turn = 0; turn < 10; turn += 1) await afterOthers();
  hear().ended(ENDED);
  expect(await result).toMatchObject({ kind: 'refused', code: 'sandbox.enforcement_failed' });
  expect(said).toEqual(['kill']);
});

it('is told nothing any more when it was over before its facts were judged', async () => {
  const { said, result, hear } = begin(new AbortController().signal);
  hear().facts(UNREADABLE);
  hear().ended(ENDED);
  expect((await result).kind).toBe('cancelled');
  for (let turn = 0; turn < 10; turn += 1) await afterOthers();
  expect(said).toEqual([]);
});

it('says of one that was never let go that it ended, and nothing before that', async () => {
  let now = 1000;
  const caller = new AbortController();
  const { result, hear } = begin(caller.signal, { mayBegin: new Promise(() => undefined), now: () => now });
  now = 2000;
  caller.abort();
  hear().ended(ENDED);
  expect(await result).toMatchObject({ kind: 'cancelled', startedAt: 2000, endedAt: 2000 });
});
