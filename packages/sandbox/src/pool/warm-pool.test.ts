import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MeasuredFacts } from '../facts/measured-facts.ts';
import type { LaunchPlan } from '../launch-plan.ts';
import type { Job } from '../launcher/start-launcher.ts';
import type { PrepareWarm } from './shelves.ts';
import { createWarmPool, type WarmPool } from './warm-pool.ts';
import type { WarmSandbox } from './warm-sandbox.ts';

beforeEach(() => {
  // The turns of the loop are real ones.
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Made extends WarmSandbox {
  readonly of: string;
  sound: boolean;
  ended: boolean;
}

/** A pool over sandboxes that are names. */
function open({ perProfile = 2, profiles = 4, maxAgeMs = 30_000, fails = false } = {}) {
  const made: Made[] = [];
  const warmUp = async ({ executor }: LaunchPlan): Promise<WarmSandbox | undefined> => {
    if (fails) return undefined;
    const sandbox: Made = {
      of: executor,
      sound: true,
      ended: false,
      facts: {} as MeasuredFacts,
      isSound: () => sandbox.sound,
      adopt: () => ({}) as Job,
      end: () => {
        sandbox.ended = true;
      },
    };
    made.push(sandbox);
    return sandbox;
  };
  const pool = createWarmPool({ warmUp, now: Date.now, settings: { perProfile, profiles, maxAgeMs } });
  return { pool, made, waiting: () => made.filter(({ ended }) => !ended) };
}

function planOf(executor: string): LaunchPlan {
  const expected = { cgroups: [] } as unknown as LaunchPlan['expected'];
  return { executor, tool: {}, data: [], cgroups: [], watch: {}, expected } as unknown as LaunchPlan;
}

const preparing =
  (executor: string): PrepareWarm =>
  (start) =>
    start(planOf(executor));

/** One command from its beginning to its end, and the pool afterwards. */
async function run(
  pool: WarmPool,
  executor: string,
  prepare: PrepareWarm = preparing(executor),
): Promise<WarmSandbox | undefined> {
  const use = pool.use(planOf(executor), prepare);
  const taken = use.take();
  use.done();
  await settled(pool);
  return taken;
}

/** It rests for a moment after a command. */
async function settled(pool: WarmPool): Promise<number> {
  const count = pool.settled();
  await vi.advanceTimersByTimeAsync(10);
  return count;
}

describe('the pool', () => {
  it('starts nothing for a profile that is used once, or again only after a long time', async () => {
    const { pool, made } = open();
    await run(pool, 'a');
    await run(pool, 'b');
    await vi.advanceTimersByTimeAsync(61_000);
    await run(pool, 'a');
    expect(made).toEqual([]);
    expect(await settled(pool)).toBe(0);
  });

  it('hands each out once, to commands of the same plan, and makes others', async () => {
    const { pool, made } = open();
    expect([await run(pool, 'a'), await run(pool, 'a')]).toEqual([undefined, undefined]);
    expect(made.map(({ of }) => of)).toEqual(['a', 'a']);
    expect(await run(pool, 'b')).toBeUndefined();
    expect(await run(pool, 'a')).toBe(made[0]);
    expect(await run(pool, 'a')).toBe(made[1]);
    expect(await run(pool, 'a')).toBe(made[2]);
    expect(made).toHaveLength(5);
  });

  it('starts none while a command runs, unless that takes long', async () => {
    const { pool, made } = open();
    await run(pool, 'a');
    const use = pool.use(planOf('a'), preparing('a'));
    await vi.advanceTimersByTimeAsync(99);
    expect(made).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(made).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(100);
    expect(made).toHaveLength(2);
    use.done();
  });

  it('starts none at once when a command has ended: what became of it is still being said', async () => {
    const { pool, made } = open();
    await run(pool, 'a');
    pool.use(planOf('a'), preparing('a')).done();
    await vi.advanceTimersByTimeAsync(9);
    expect(made).toEqual([]);
    expect(await settled(pool)).toBe(2);
  });

  it('ends what is too old, and makes no others until somebody comes', async () => {
    const { pool, made, waiting } = open({ maxAgeMs: 1000 });
    for (let command = 0; command < 2; command += 1) await run(pool, 'a');
    expect(waiting()).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1000);
    expect(waiting()).toEqual([]);
    expect(await run(pool, 'b')).toBeUndefined();
    expect(made).toHaveLength(2);
    expect(await run(pool, 'a')).toBeUndefined();
    expect(waiting()).toHaveLength(2);
  });

  it('hands out nothing that is too old, also when its timer is late or the clock was set', async () => {
    const { pool, made } = open({ maxAgeMs: 1000 });
    for (let command = 0; command < 2; command += 1) await run(pool, 'a');
    vi.setSystemTime(Date.now() + 1000);
    expect(await run(pool, 'a')).toBeUndefined();
    vi.setSystemTime(Date.now() - 5000);
    expect(await run(pool, 'a')).toBeUndefined();
    expect(made.slice(0, 2).map(({ ended }) => ended)).toEqual([true, true]);
  });

  it('ends what is not sound any more, and takes the next', async () => {
    const { pool, made } = open();
    for (let command = 0; command < 2; command += 1) await run(pool, 'a');
    const [first, second] = made;
    if (first !== undefined) first.sound = false;
    expect(await run(pool, 'a')).toBe(second);
    expect(first?.ended).toBe(true);
  });

  it('keeps those of the profiles that were used last', async () => {
    const { pool, waiting } = open({ profiles: 2 });
    for (const executor of ['a', 'a', 'b', 'b', 'a', 'c', 'c']) await run(pool, executor);
    expect(new Set(waiting().map(({ of }) => of))).toEqual(new Set(['a', 'c']));
  });

  it('makes none for a plan that is another one by now, or refused', async () => {
    const refused: PrepareWarm = async () => undefined;
    for (const again of [preparing('b'), refused]) {
      const { pool, made } = open();
      for (let command = 0; command < 4; command += 1) expect(await run(pool, 'a', again)).toBeUndefined();
      expect(made).toEqual([]);
    }
  });

  it('tries no more for a while where none can be made', async () => {
    const { pool } = open({ fails: true });
    for (let command = 0; command < 4; command += 1) expect(await run(pool, 'a')).toBeUndefined();
    expect(await settled(pool)).toBe(0);
  });

  it('makes room for a crowd of commands', async () => {
    const { pool, made, waiting } = open();
    for (let command = 0; command < 2; command += 1) await run(pool, 'a');
    const uses = Array.from({ length: 65 }, () => pool.use(planOf('b'), preparing('b')));
    await vi.advanceTimersByTimeAsync(1000);
    expect(waiting()).toEqual([]);
    expect(made).toHaveLength(2);
    for (const use of uses) use.done();
    expect(await settled(pool)).toBe(0);
    await run(pool, 'b');
    expect(waiting()).toHaveLength(2);
  });

  it('ends everything when it is closed, also what becomes ready only then', async () => {
    const { pool, made, waiting } = open();
    for (let command = 0; command < 2; command += 1) await run(pool, 'a');
    const use = pool.use(planOf('a'), preparing('a'));
    use.take();
    use.done();
    pool.close();
    await vi.advanceTimersByTimeAsync(1000);
    expect(waiting()).toEqual([made[0]]);
    expect(await run(pool, 'a')).toBeUndefined();
    expect(await settled(pool)).toBe(0);
  });
});
