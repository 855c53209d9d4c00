/**
 * T-40: a keeper ends a crowd by one signal to everybody whom it can reach. That must be nobody but the tool's own: not the operator's
 * processes, nor palyrad, nor another command, all of which have the same user; and with root not the machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { expect, test } from 'vitest';
import { as, type Daemon, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, type Place, processesWith, python, tierB, tierC, uniqueMark } from './sandboxed.ts';

/** More than a processor has turns for, which is when nobody is looked for any more. */
const CROWD = `
import os
start, held = os.pipe()
for _ in range(${45 * cpus().length}):
  if os.fork() == 0:
    os.close(held)
    os.setsid()
    os.read(start, 1)
    break
else:
  os.close(held)
  os.write(1, b'ready')
while True: pass
`;

/** Where it fails, root's ends everybody here, and no more. */
const OF_ITS_OWN = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', '--'];

const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;

function startAlone(place: Place): Promise<Daemon> {
  return startDaemon(place, place.uid === 0 ? { asRoot: OF_ITS_OWN } : {});
}

describeBothWays((place) => {
  test.each(TIERS)('Tier %s: of all that have its user only the cancelled command ends', async (_, profile) => {
    const daemon = await startAlone(place());
    const [file = '', ...args] = as(place(), ['sleep', '1000']);
    const operators = spawn(file, args, { stdio: 'ignore' });
    const others = [tierB, tierC].map((tier) => daemon.start({ argv: ['sleep', '1000'] }, tier(place())));
    await Promise.all(others.map(({ running }) => running));

    const mark = uniqueMark();
    const crowd = daemon.start(python(CROWD, mark), profile(place(), { limits: { processes: 1000 } }));
    await expect.poll(() => crowd.text()).toBe('ready');
    crowd.cancel();
    expect((await crowd.ended).kind).toBe('cancelled');
    expect(processesWith(mark)).toEqual([]);

    for (const other of others) other.cancel();
    const kinds = await Promise.all(others.map(async ({ ended }) => (await ended).kind));
    expect(kinds).toEqual(['cancelled', 'cancelled']);
    // Root's everybody is another one, see above.
    expect([operators.exitCode, operators.signalCode]).toEqual([null, null]);
    operators.kill('SIGKILL');
    await once(operators, 'close');
    await daemon.close();
  });
});
