// T-16: as a service palyrad is killed while it has not heard all that a tool said, and the tool goes on without it. Its end of
// the socket then ends by an error, and not as one that was closed.
import { setTimeout as delay } from 'node:timers/promises';
import { removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, describe, expect, test } from 'vitest';
import { startServicePlace } from '../service/service-place.ts';
import { IS_ROOT, processesWith, statusOf, uniqueMark, until } from './sandboxed.ts';

afterAll(removeOrdinaryUser);

describe.runIf(IS_ROOT)('palyrad as a service [needs: root]', () => {
  test('what ran ends with it, and so do those that started it', async () => {
    const place = await startServicePlace();
    const mark = uniqueMark();
    const input = { argv: ['sh', '-c', 'while :; do echo said; done', mark] };
    void place.tell({ act: 'call', tool: 'palyra.process.run', input });
    await until('it runs', () => processesWith(mark).length > 0);
    process.kill(place.pid, 'SIGSTOP');
    // As much as is on its way before some of it was taken.
    await delay(500);
    process.kill(place.pid, 'SIGKILL');
    const gone = (pid: number) => ['', 'Z'].includes(statusOf(pid, 'State').slice(0, 1));
    try {
      await until(
        'nothing is left',
        () => processesWith(mark).length === 0 && gone(place.hostPid) && gone(place.launcherPid),
      );
      expect(gone(place.pid)).toBe(true);
    } finally {
      for (const pid of [place.hostPid, place.launcherPid]) if (!gone(pid)) process.kill(pid, 'SIGKILL');
      await place.close();
    }
  });
});
