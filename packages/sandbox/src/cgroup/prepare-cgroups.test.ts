import { expect, test } from 'vitest';
import type { CgroupChanges } from './cgroup-files.ts';
import type { V2Driver } from './detect-cgroups.ts';
import { prepareCgroups } from './prepare-cgroups.ts';

const OWN = '/sys/fs/cgroup/own';
const DRIVER: V2Driver = { kind: 'v2', directory: OWN, controllers: ['memory', 'pids'], files: [] };

/** A v2 cgroup as the kernel keeps it: no controllers for children while there are processes. */
function fakeKernel({ pids, stuck = [] }: { pids: readonly string[]; stuck?: readonly string[] }) {
  const acts: string[] = [];
  const inOwn = new Set(pids);
  let enabled = '';
  let hasLeaf = false;
  const changes: CgroupChanges = {
    uid: 0,
    pid: 7,
    pidNamespace: '1',
    readText(path) {
      // Everything else that runs was started by 7, except what begins with a 9.
      const process = /^\/proc\/(\d+)\/stat$/.exec(path)?.[1];
      if (process !== undefined)
        return process === '1' ? '1 (init) S 0' : `${process} (a) b) S ${process.startsWith('9') ? 1 : 7}`;
      if (path === `${OWN}/cgroup.procs`) return [...inOwn].map((pid) => `${pid}\n`).join('');
      return path === `${OWN}/cgroup.subtree_control` ? `${enabled}\n` : undefined;
    },
    exists: (path) => path === `${OWN}/palyra-main` && hasLeaf,
    isWritable: () => true,
    ownerUid: () => 0,
    directoriesIn: () => [],
    write(path, text) {
      acts.push(`${path} ← ${text}`);
      if (path === `${OWN}/palyra-main/cgroup.procs`) return !stuck.includes(text) && inOwn.delete(text);
      if (inOwn.size > 0) return false;
      enabled = text.replaceAll('+', '');
      return true;
    },
    makeDirectory(path) {
      acts.push(`mkdir ${path}`);
      hasLeaf = true;
      return true;
    },
    removeDirectory: () => false,
    sendKill: () => undefined,
    pause: () => Promise.resolve(),
  };
  return { changes, acts };
}

test('processes move to the leaf before the controllers are enabled, and once is enough', () => {
  const { changes, acts } = fakeKernel({ pids: ['7', '8'] });
  expect(prepareCgroups(DRIVER, changes)).toEqual(DRIVER);
  const expected = [
    `mkdir ${OWN}/palyra-main`,
    `${OWN}/palyra-main/cgroup.procs ← 7`,
    `${OWN}/palyra-main/cgroup.procs ← 8`,
    `${OWN}/cgroup.subtree_control ← +memory +pids`,
  ];
  expect(acts).toEqual(expected);
  expect(prepareCgroups(DRIVER, changes)).toEqual(DRIVER);
  expect(acts).toEqual(expected);
});

test('a process that cannot be moved means that there are no cgroups', () => {
  const { changes } = fakeKernel({ pids: ['7', '8'], stuck: ['8'] });
  expect(prepareCgroups(DRIVER, changes)).toMatchObject({ kind: 'none', reason: expect.stringContaining('moved') });
});

test('a process of another pid namespace is not mistaken for ourselves', () => {
  const { changes, acts } = fakeKernel({ pids: ['0'] });
  expect(prepareCgroups(DRIVER, changes)).toMatchObject({ kind: 'none' });
  expect(acts.filter((act) => act.endsWith('← 0'))).toEqual([]);
});

test("the user's other programs are left where they are, and then there are no cgroups", () => {
  const { changes, acts } = fakeKernel({ pids: ['7', '90'] });
  expect(prepareCgroups(DRIVER, changes)).toMatchObject({
    kind: 'none',
    reason: expect.stringContaining('other programs'),
  });
  expect(acts).toEqual([]);
});

test('controllers that stay off although the write succeeded mean that there are no cgroups', () => {
  const { changes } = fakeKernel({ pids: [] });
  const lying: CgroupChanges = { ...changes, write: () => true };
  expect(prepareCgroups(DRIVER, lying)).toMatchObject({ kind: 'none', reason: expect.stringContaining('enabled') });
});

test('v1 and none need nothing', () => {
  const { changes, acts } = fakeKernel({ pids: ['7'] });
  const none = { kind: 'none', reason: '', fix: '' } as const;
  expect([prepareCgroups({ kind: 'v1', hierarchies: [] }, changes), prepareCgroups(none, changes), acts]).toEqual([
    { kind: 'v1', hierarchies: [] },
    none,
    [],
  ]);
});
