// T-26: a caller whose guests never end, or whose hosts never start, takes the hosts and the time of everybody else.

import { systemClock } from '@palyra/primitives';
import type { StartHost, WasmCall } from '@palyra/wasm';
import { instrument } from '@palyra/wasm';
import { expect, test } from 'vitest';
import { askFrame, resultFrame } from '../../packages/wasm/src/host/messages.ts';
import { assemble, ECHO, guest } from '../wasm-guests/guests.ts';
import { RESULT, takenHost } from '../wasm-guests/taken-host.ts';
import { callOn, openRuntime, told } from '../wasm-guests/wasm-place.ts';

const EMITS = {
  imports: '(import "palyra" "emit" (func $emit (param i64 i32 i32) (result i32)))',
  call: '(i64.const 0)',
};
const grants = { emit: true };

/** Hosts that answer when they are told to, in the order of the calls. */
function patientHosts() {
  const held: (() => void)[] = [];
  const taken = takenHost(({ id }, say) => {
    held.push(() => say(resultFrame({ ...RESULT, id })));
    return [];
  });
  return { ...taken, held };
}

test('a start that is refused while another host serves is not tried again and again', async () => {
  const { startHost, started, held } = patientHosts();
  let starts = 0;
  const scarce: StartHost<string> = async (order) => {
    starts += 1;
    // Without the control this would be the end of the event loop, and of the test.
    if (starts > 20) return new Promise(() => undefined);
    if (starts > 1) return { kind: 'refused', message: 'There is no room.', fix: undefined };
    return startHost(order);
  };
  const runtime = openRuntime(scarce);
  const bytes = await guest(EMITS);
  const first = callOn(runtime, bytes, { grants });
  await expect.poll(() => held.length).toBe(1);
  const second = callOn(runtime, bytes, { grants });
  await expect.poll(() => starts).toBeGreaterThan(1);
  held[0]?.();
  expect(told(await first)).toBe('"mine"');
  await expect.poll(() => held.length).toBe(2);
  held[1]?.();
  expect([told(await second), starts, started.length]).toEqual(['"mine"', 2, 1]);
  await runtime.close();
});

test('a start that is refused while another is under way costs no call', async () => {
  const { startHost } = takenHost(({ id }) => [resultFrame({ ...RESULT, id })]);
  let starts = 0;
  const runtime = openRuntime<string>(async (order) => {
    starts += 1;
    return starts === 2 ? { kind: 'refused', message: 'There is no room.', fix: undefined } : startHost(order);
  });
  const bytes = await guest(EMITS);
  const both = await Promise.all([callOn(runtime, bytes, { grants }), callOn(runtime, bytes, { grants })]);
  expect(both.map(told)).toEqual(['"mine"', '"mine"']);
  // Once there is a host, one more may be tried for the call that waits behind it.
  expect([2, 3]).toContain(starts);
  await runtime.close();
});

test('who keeps all hosts busy gives one up to who has none', async () => {
  const { startHost, held, started } = patientHosts();
  const runtime = openRuntime(startHost, { lanes: { hosts: 2, hostsOfOne: 2 } });
  const bytes = await guest(EMITS);
  const greedy = [1, 2, 3, 4, 5].map(() => callOn(runtime, bytes, { grants, principal: 'agent:greedy' }));
  await expect.poll(() => held.length).toBe(2);
  let isServed = false;
  const other = callOn(runtime, bytes, { grants, principal: 'agent:other' }).then((outcome) => {
    isServed = true;
    return outcome;
  });
  await new Promise(setImmediate);
  // One of the greedy calls ends, and the next that begins is not one of them.
  held[0]?.();
  await greedy[0];
  await expect.poll(() => held.length).toBe(3);
  expect([started.length, runtime.hosts()]).toEqual([3, 2]);
  held[2]?.();
  await new Promise(setImmediate);
  expect(isServed).toBe(true);
  expect(told(await other)).toBe('"mine"');
  await runtime.close();
  await Promise.all(greedy);
});

interface Slow {
  readonly metering: number;
  readonly starting: number;
  readonly wallMs: number;
}

/** A call on a host that would answer at once or never, after so much of its time. */
async function afterSlowStart({ metering, starting, wallMs }: Slow, answers: boolean) {
  let now = 1_000_000;
  const { startHost } = takenHost(({ id }) => (answers ? [resultFrame({ ...RESULT, id })] : []));
  const runtime = openRuntime(
    (order) => {
      now += starting;
      return startHost(order);
    },
    {
      clock: { ...systemClock, now: () => now },
      async instrument(bytes, limits) {
        now += metering;
        return instrument(bytes, limits);
      },
    },
  );
  const outcome = told(await callOn(runtime, await assemble(ECHO), { limits: { wallMs } }));
  await runtime.close();
  return outcome;
}

test('metering, starting and running are of one time', async () => {
  const wallMs = 600_000;
  expect(await afterSlowStart({ metering: 200_000, starting: 300_000, wallMs }, true)).toBe('"mine"');
  expect(await afterSlowStart({ metering: 300_000, starting: 300_000, wallMs }, true)).toBe('timed_out');
  expect(await afterSlowStart({ metering: 299_990, starting: 300_000, wallMs }, false)).toBe('timed_out');
});

test('what is done for a call stops when its time is over', async () => {
  const { startHost } = takenHost(({ id, handle }) => [
    askFrame({ id, handle, number: 1, function: 'emit', body: Buffer.from('{}') }),
  ]);
  const runtime = openRuntime(startHost);
  const signals: AbortSignal[] = [];
  const answer: WasmCall['answer'] = (_, __, over) => {
    signals.push(over);
    return new Promise((resolve) => {
      over.addEventListener('abort', () => resolve({ status: 0, body: Buffer.alloc(0) }));
    });
  };
  const outcome = await callOn(runtime, await guest(EMITS), { grants, answer, limits: { wallMs: 1_000 } });
  expect([told(outcome), signals.map(({ aborted }) => aborted)]).toEqual(['timed_out', [true]]);
  // What was answered after the end is not in what is told of it.
  expect(outcome.asked).toEqual([{ function: 'emit', status: -3 }]);
  await runtime.close();
});
