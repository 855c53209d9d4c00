import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { homeLayout, parseConfig } from '@palyra/config';
import { composeDaemon } from '@palyra/daemon';
import { type Clock, systemClock } from '@palyra/primitives';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { startUpkeep } from '../../apps/daemon/src/upkeep.ts';

const DAY_MS = 86_400_000;

test('the journal is sealed when it is due, and archived and pruned when it is kept for a time only', async () => {
  await using place = await createTemporaryHome();
  const home = homeLayout(place.path);
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const { config } = parseConfig('', 'palyra.toml');
  const operator = { path: '/usr/bin:/bin', home: homedir(), palyraHome: home.root, environment: {} };
  const daemon = await composeDaemon({ home, config, operator, log: { level: 'silent' }, pool: 'off', clock });
  const faults: unknown[] = [];
  const upkeep = (days: number) =>
    startUpkeep({
      home,
      settings: { segment_entries: 1_000, segment_hours: 24, keep_days: days },
      daemon,
      clock,
      logger: { error: ({ error }) => void faults.push(error), info: () => undefined },
    });
  const kinds = async () => (await daemon.journal.query({ limit: 100 })).entries.map(({ kind }) => kind);
  try {
    const keeping = await upkeep(0);
    await keeping.tend();
    expect(await kinds()).not.toContain('segment.sealed');
    aheadMs = 2 * DAY_MS;
    // Entries of that day: one segment alone is what was written before them.
    for (let each = 0; each < 10; each += 1) await daemon.journal.append('user:ada' as never, [changed(each)]);
    await keeping.tend();
    await keeping.close();
    expect(await kinds()).toContain('segment.sealed');
    expect(readdirSync(home.root)).not.toContain('archive');
    const pruning = await upkeep(1);
    aheadMs = 5 * DAY_MS;
    await pruning.tend();
    await pruning.close();
    expect(faults).toEqual([]);
    expect(readdirSync(join(home.root, 'archive'))).not.toEqual([]);
    expect(await kinds()).toContain('segment.pruned');
  } finally {
    await daemon.close();
  }
});

function changed(each: number) {
  const id = `01M7JQZDDDEB8WD37DFAT97X${String(each).padStart(2, '0')}`;
  return { kind: 'device.changed', data: { device_id: id, change: 'renewed', kind: 'agent' } } as const;
}
