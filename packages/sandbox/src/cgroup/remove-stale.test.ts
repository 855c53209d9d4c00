import { expect, test } from 'vitest';
import type { CgroupChanges } from './cgroup-files.ts';
import type { CgroupDriver } from './detect-cgroups.ts';
import { removeStale } from './remove-stale.ts';

const OWN = '/sys/fs/cgroup/own';
const V2: CgroupDriver = { kind: 'v2', directory: OWN, controllers: ['memory', 'pids'], files: [] };

interface FakeCgroups {
  /** Pids by directory name. */
  readonly jobs: Readonly<Record<string, readonly number[]>>;
  /** Start ticks by pid of what runs. */
  readonly running?: Readonly<Record<number, { ticks: number; state?: string }>>;
  /** Does not die. */
  readonly immortal?: readonly number[];
  readonly hasKillFile?: boolean;
}

function fakeCgroups({ jobs, running = {}, immortal = [], hasKillFile = false }: FakeCgroups) {
  const left = new Map(Object.entries(jobs).map(([name, pids]) => [`${OWN}/${name}`, new Set(pids)]));
  const acts: string[] = [];
  const end = (pid: number) => {
    if (!immortal.includes(pid)) for (const pids of left.values()) pids.delete(pid);
  };
  const changes: CgroupChanges = {
    uid: 0,
    pid: 1,
    pidNamespace: '7',
    readText(path) {
      const pid = Number(/^\/proc\/(\d+)\/stat$/.exec(path)?.[1]);
      const found = running[pid];
      if (found !== undefined) return `${pid} (l) ${found.state ?? 'S'} ${'0 '.repeat(18)}${found.ticks} 0\n`;
      const pids = path.endsWith('/cgroup.procs') ? left.get(path.slice(0, -'/cgroup.procs'.length)) : undefined;
      return pids === undefined ? undefined : [...pids].map((each) => `${each}\n`).join('');
    },
    exists: (path) => left.has(path) || running[Number(path.slice('/proc/'.length))] !== undefined,
    isWritable: () => true,
    ownerUid: () => 0,
    directoriesIn: (path) => (path === OWN ? [...left.keys()].map((each) => each.slice(OWN.length + 1)) : []),
    write(path, text) {
      acts.push(`${path.slice(OWN.length + 1)} ← ${text}`);
      if (!path.endsWith('/cgroup.kill')) return true;
      if (hasKillFile) for (const pid of left.get(path.slice(0, -'/cgroup.kill'.length)) ?? []) end(pid);
      return hasKillFile;
    },
    makeDirectory: () => false,
    removeDirectory: (path) => left.get(path)?.size === 0 && left.delete(path),
    sendKill(pid) {
      acts.push(`kill ${pid}`);
      end(pid);
    },
    pause: () => Promise.resolve(),
  };
  return { changes, acts, names: () => [...left.keys()].map((path) => path.slice(OWN.length + 1)) };
}

test('only what dead launchers left is removed, and what runs in it is killed first', async () => {
  const host = fakeCgroups({
    jobs: {
      'palyra-main': [50],
      'palyra-10-100-living': [51],
      'palyra-11-100-reused-pid': [52, 53],
      'palyra-12-100-gone': [],
      'palyra-13-100-zombie': [],
      'somebody-else': [54],
    },
    running: { 10: { ticks: 100 }, 11: { ticks: 999 }, 13: { ticks: 100, state: 'Z' } },
  });
  expect(await removeStale(V2, host.changes)).toEqual({
    removed: [`${OWN}/palyra-11-100-reused-pid`, `${OWN}/palyra-12-100-gone`, `${OWN}/palyra-13-100-zombie`],
    left: [],
  });
  expect(host.names()).toEqual(['palyra-main', 'palyra-10-100-living', 'somebody-else']);
  expect(host.acts).toEqual([
    'palyra-11-100-reused-pid/pids.max ← 0',
    'palyra-11-100-reused-pid/cgroup.kill ← 1',
    'kill 52',
    'kill 53',
  ]);
});

test('where the kernel kills the whole cgroup, no pid is signalled', async () => {
  const host = fakeCgroups({ jobs: { 'palyra-12-100-gone': [60, 61] }, hasKillFile: true });
  expect(await removeStale(V2, host.changes)).toEqual({ removed: [`${OWN}/palyra-12-100-gone`], left: [] });
  expect(host.acts.filter((act) => act.startsWith('kill'))).toEqual([]);
});

test('what does not end is reported and does not stop the others', async () => {
  const host = fakeCgroups({ jobs: { 'palyra-12-100-a': [60], 'palyra-12-100-b': [61] }, immortal: [60] });
  expect(await removeStale(V2, host.changes)).toEqual({
    removed: [`${OWN}/palyra-12-100-b`],
    left: [{ directory: `${OWN}/palyra-12-100-a`, reason: 'Its processes do not end.' }],
  });
});

test('a job of another pid namespace is left in peace: kill(0) would be us', async () => {
  const host = fakeCgroups({ jobs: { 'palyra-12-100-a': [0, 60] } });
  expect(await removeStale(V2, host.changes)).toMatchObject({ removed: [], left: [{ directory: expect.any(String) }] });
  expect(host.acts).toEqual([]);
});

test('whether a launcher of another pid namespace lives is not for us to tell', async () => {
  const host = fakeCgroups({
    jobs: { 'palyra-12-100-n8-1': [], 'palyra-12-100-n8-2': [60], 'palyra-12-100-n7-3': [61] },
  });
  expect(await removeStale(V2, host.changes)).toEqual({ removed: [`${OWN}/palyra-12-100-n7-3`], left: [] });
  expect(host.names()).toEqual(expect.arrayContaining(['palyra-12-100-n8-1', 'palyra-12-100-n8-2']));
});

test('the first process of the machine is never killed', async () => {
  const host = fakeCgroups({ jobs: { 'palyra-12-100-a': [1] } });
  expect(await removeStale(V2, host.changes)).toMatchObject({ removed: [] });
  expect(host.acts).not.toContain('kill 1');
});

test('without cgroups there is nothing to remove', async () => {
  const host = fakeCgroups({ jobs: { 'palyra-12-100-a': [60] } });
  const none = { kind: 'none', reason: '', fix: '' } as const;
  expect(await removeStale(none, host.changes)).toEqual({ removed: [], left: [] });
});
