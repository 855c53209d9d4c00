/**
 * T-42: a palyrad that was started as root keeps a way back to it, or the process between it and the launcher does; whoever
 * speaks to the launcher asks it for another user, a powerful group, places that the owner cannot enter, or root's files
 * under another name; and root is led by a link of somebody else's when it makes its directories.
 */
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, launcherProgram } from '../integration/launched-job.ts';
import { startRawLauncher } from '../integration/raw-launcher.ts';
import { type ServicePlace, startServicePlace } from '../service/service-place.ts';
import { IS_ROOT, statusOf } from './sandboxed.ts';

const NO_CAPABILITIES = '0000000000000000';

describe.runIf(IS_ROOT)('a service that was root [needs: root]', () => {
  let place: ServicePlace;
  beforeAll(async () => {
    place = await startServicePlace();
  });
  afterAll(async () => {
    await place.close();
    await removeOrdinaryUser();
  });

  test('there is no way back for palyrad', async () => {
    expect(await place.tell({ act: 'become_root' })).toEqual([]);
  });

  test('neither palyrad nor the process between is anything but an ordinary user, in any of its ids', () => {
    const idsOf = (pid: number) =>
      ['Uid', 'Gid', 'Groups'].map((field) => statusOf(pid, field).split(/\s+/).filter(Boolean));
    const four = (uid: number) => [0, 1, 2, 3].map(() => String(uid));
    expect(idsOf(place.pid)).toEqual([four(place.daemonUid), four(place.daemonUid), []]);
    expect(idsOf(place.hostPid)).toEqual([four(place.ownerUid), four(place.ownerUid), []]);
    for (const pid of [place.pid, place.hostPid]) {
      const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapAmb'].map((field) => statusOf(pid, field));
      expect(sets).toEqual(sets.map(() => NO_CAPABILITIES));
    }
  });
});

const ONLY = { uid: 64_333, gid: 64_333 };
const plan = barePlan(['/bin/true'], { identity: ONLY });
const staged = (source: string, idmap: boolean): LaunchPlan => ({
  ...plan,
  staged: [{ name: '0', source, readOnly: false, idmap }],
});

describe.runIf(IS_ROOT)('a launcher that works for one user [needs: root]', () => {
  test.each([
    ['another user', { ...plan, identity: { ...ONLY, uid: 64_334 } }, /works for another user/],
    ['a powerful group', { ...plan, identity: { ...ONLY, gid: 998 } }, /works for another user/],
    ['a place that the user cannot enter', staged('/root', false), /hands nothing over/],
    ['root’s files as the user’s own', staged('/etc', true), /hands nothing over/],
  ] as const)('%s is not given', async (_, asked, why) => {
    await using launcher = await startRawLauncher([launcherProgram(), `--only=${ONLY.uid}:${ONLY.gid}`]);
    launcher.send(TO_LAUNCHER.start, 1, encodeRequest(asked, { stdin: false }));
    const said = await launcher.frame(
      ({ job, kind }) => job === 1 && (kind === FROM_LAUNCHER.failed || kind === FROM_LAUNCHER.facts),
    );
    expect(said.payload.toString()).toMatch(why);
  });

  test('what it works for is given', async () => {
    await using launcher = await startRawLauncher([launcherProgram(), `--only=${ONLY.uid}:${ONLY.gid}`]);
    launcher.send(TO_LAUNCHER.start, 1, encodeRequest(plan, { stdin: false }));
    const { kind } = await launcher.frame(({ job }) => job === 1);
    expect(kind).toBe(FROM_LAUNCHER.facts);
  });

  test.each(['--only=0:5', '--only=5:0', '--only=5', '--only=5:6:7', '--only=-1:6 ', '--all'])(
    'it does not start with %s',
    async (argument) => {
      await expect(startRawLauncher([launcherProgram(), argument])).rejects.toThrow('ended without saying it');
    },
  );
});

describe.runIf(IS_ROOT)('root’s directories [needs: root]', () => {
  afterAll(removeOrdinaryUser);

  test('are not made where somebody else could put a link', async () => {
    let elsewhere = '';
    const prepare = ({ state, owner }: { state: string; owner: { uid: number } }) => {
      const base = dirname(state);
      elsewhere = join(base, 'elsewhere');
      mkdirSync(elsewhere);
      chownSync(base, owner.uid, owner.uid);
      symlinkSync(elsewhere, state);
    };
    await expect(startServicePlace({ prepare })).rejects.toThrow('service.unsafe_state');
    expect(existsSync(join(elsewhere, 'home'))).toBe(false);
  });

  test('nor in one that everybody writes', async () => {
    const prepare = ({ state }: { state: string }) => chmodSync(dirname(state), 0o777);
    await expect(startServicePlace({ prepare })).rejects.toThrow('service.unsafe_state');
  });
});
