import { randomInt } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { type Daemon, startDaemon } from '../tests/attack/sandbox-daemon.ts';
import { makeWhereabouts, type Whereabouts } from '../tests/attack/whereabouts.ts';
import { type Contender, defineBenchmark } from './harness.ts';
import { profileOf } from './sandbox-place.ts';

interface StormContext {
  readonly place: Whereabouts;
  readonly daemon: Daemon;
}

/**
 * As many processes as are asked for, each in a session of its own, which run when all of them are there; `fork` lets each fork for as
 * long as the profile allows another one.
 */
const STORM = `
import os, sys
start, held = os.pipe()
for _ in range(int(sys.argv[1])):
  if os.fork() == 0:
    os.close(held)
    os.read(start, 1)
    os.setsid()
    while sys.argv[2] == 'fork':
      try:
        if os.fork() == 0: os.setsid()
      except OSError: pass
    break
else:
  os.write(1, b'ready')
  os.close(held)
while True: pass
`;

const SETTLED_MS = 500;

export default defineBenchmark<StormContext>({
  name: 'storm',
  description: 'From the word that a command shall end until hundreds of processes are dead, by an ordinary user.',
  baseline: 'quiet-c',
  ratioOf: 'p50_ms',
  defaults: { rounds: 5, seconds: 25, warmUp: 1 },
  async setup() {
    // Who has no cgroup, as a rule, and nothing else that holds processes together.
    const uid = process.geteuid?.() ?? 0;
    const place = makeWhereabouts(uid === 0 ? randomInt(70_000, 100_000) : uid);
    return { place, daemon: await startDaemon(place) };
  },
  async teardown({ place, daemon }) {
    await daemon.close();
    await rm(place.base, { recursive: true });
  },
  contenders: [
    cancelled('quiet-c', 'C', ['1', 'run']),
    cancelled('running-b', 'B', ['500', 'run']),
    cancelled('running-c', 'C', ['500', 'run']),
    cancelled('forking-b', 'B', ['100', 'fork']),
    cancelled('forking-c', 'C', ['100', 'fork']),
  ],
});

/** As a program hears it that asks palyrad, which has to be woken itself. */
function cancelled(name: string, tier: 'B' | 'C', how: readonly [string, string]): Contender<StormContext> {
  return {
    name,
    prepare: ({ place, daemon }) => ({
      sample: 'result',
      async operation() {
        const command = { argv: ['/usr/bin/python3', '-c', STORM, ...how] };
        const started = daemon.start(command, profileOf(tier, place.workspace));
        while (started.text() !== 'ready') await new Promise((resolve) => setTimeout(resolve, 5));
        await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
        const asked = performance.now();
        started.cancel();
        const { kind } = await started.ended;
        if (kind !== 'cancelled') throw new Error(`It was not cancelled: ${kind}.`);
        return performance.now() - asked;
      },
    }),
  };
}
