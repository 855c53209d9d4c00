import { describe, expect, it } from 'vitest';
import type { LaunchPlan } from '../launch-plan.ts';
import { isStillThere, type StampFiles, stampMounts } from './mount-stamp.ts';

const PLAN = {
  wrapper: `/usr/bin/bwrap --ro-bind /usr /usr --symlink usr/bin /bin --tmpfs /tmp --bind /run/palyra/0 /work
    --ro-bind /dev/null /work/.env --ro-bind /usr /again`.split(/\s+/),
  staged: [{ name: '0', source: '/home/ada/work', readOnly: false, idmap: true }],
} as unknown as LaunchPlan;

function filesOf(identities: Readonly<Record<string, string>>): StampFiles {
  return { identity: (path) => identities[path], mountTable: () => undefined };
}

const HOST = { '/usr': '1 10', '/dev/null': '2 20', '/home/ada/work': '1 30' };

describe('a stamp of mounts', () => {
  it('knows every source once, by where it is on the host', () => {
    expect(stampMounts(PLAN, filesOf(HOST))).toEqual({
      sources: ['/usr', '/dev/null', '/home/ada/work'],
      identities: ['1 10', '2 20', '1 30'],
    });
  });

  it('holds as long as each leads to the same', () => {
    const stamp = stampMounts(PLAN, filesOf(HOST));
    expect(isStillThere(stamp, filesOf(HOST))).toBe(true);
    expect(isStillThere(stamp, filesOf({ ...HOST, '/usr': '1 11' }))).toBe(false);
    expect(isStillThere(stamp, filesOf({ ...HOST, '/home/ada/work': '5 30' }))).toBe(false);
  });

  it('does not hold for what is gone', () => {
    const { '/usr': _usr, ...rest } = HOST;
    expect(isStillThere(stampMounts(PLAN, filesOf(HOST)), filesOf(rest))).toBe(false);
  });
});
