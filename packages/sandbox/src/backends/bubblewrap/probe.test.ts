import { afterEach, expect, test } from 'vitest';
import { endRunaways, type Scene, sceneContext } from '../../probe/scripted-sandbox.ts';
import { BUBBLEWRAP_LAYERS, probeBubblewrap } from './probe.ts';

afterEach(endRunaways);

async function open(scene: Scene): Promise<readonly string[]> {
  const { layers } = await probeBubblewrap(sceneContext(scene));
  expect(layers.map(({ layer }) => layer)).toEqual(BUBBLEWRAP_LAYERS);
  return layers.filter(({ state }) => state !== 'enforced').map(({ layer, state }) => `${layer} ${state}`);
}

test('where every layer holds, Tier C is available', async () => {
  const report = await probeBubblewrap(sceneContext());
  expect(report).toMatchObject({
    tier: 'C',
    executor: 'sandbox_tier_c_linux_bubblewrap',
    state: 'available',
    reason: undefined,
    fix: undefined,
  });
  expect(report.layers.filter(({ state }) => state !== 'enforced')).toEqual([]);
});

test.each<[string, Scene, string]>([
  ['root', { tool: { uid: 0 } }, 'identity'],
  ...['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'].map((name): [string, Scene, string] => [
    `the host's ${name} namespace`,
    { init: { namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'].filter((each) => each !== name) } },
    `namespace_${name}`,
  ]),
  ['a nested user namespace', { answers: { nest_namespaces: 'yes' } }, 'nested_namespaces'],
  ['an init without a filter', { init: { seccomp: 0 } }, 'seccomp'],
  ['setuid programs', { tool: { noNewPrivileges: false } }, 'no_new_privs'],
  ['a capability', { tool: { capabilities: '0000000000200000' } }, 'capabilities'],
  ["the host's network", { facts: { network: 'host' } }, 'network'],
  ['a writable /usr', { answers: { write_system: 'yes' } }, 'system_files'],
  ['a writable /proc/sys', { answers: { write_settings: 'yes' } }, 'system_files'],
  ['an attempt without an answer', { answers: { write_root: '' } }, 'system_files'],
  ["the host's mount table", { facts: { mountTableSha256: undefined } }, 'system_files'],
  ['files beside the workspace', { answers: { read_outside: 'yes' } }, 'private_files'],
  ['no home', { answers: { keep_home: 'no' } }, 'private_files'],
  ['a tmpfs without a size', { mounts: ['1 1 0:46 / /tmp rw - tmpfs tmpfs rw'] }, 'tmpfs_size'],
  ['no limit of open files', { facts: { rlimits: { cpu: 1, fsize: 1, nproc: 1, core: 0 } } }, 'rlimits'],
  ['a runaway', { leavesRunaway: true }, 'tree_kill'],
])('a tool with %s is no Tier C', async (_what, scene, layer) => {
  const report = await probeBubblewrap(sceneContext(scene));
  expect(report.state).toBe('unavailable');
  expect(report.reason).toBe(`A sandbox starts, but not every layer of it holds: ${layer}.`);
  expect(await open(scene)).toEqual([`${layer} missing`]);
});

test('what is less than it could be is said, with a fix, and does not take the tier away', async () => {
  const scene: Scene = {
    tool: { groups: [870_000, 27, 999] },
    answers: { find_unshare: 'no' },
    isInexact: true,
    facts: { cgroup: { driver: 'none', memory: 'per_process', processes: 'per_user', cpu: 'per_process', limits: {} } },
    cgroups: { kind: 'none', reason: 'None.', fix: 'Delegate one.' },
  };
  const report = await probeBubblewrap(sceneContext(scene));
  expect(report.state).toBe('available');
  expect(report.layers.filter(({ state }) => state === 'partly').map(({ layer, fix }) => [layer, fix])).toEqual([
    ['identity', 'Only root can drop groups: run palyrad as a service with a user of its own.'],
    ['nested_namespaces', 'Install util-linux.'],
    ['memory', 'Delegate one.'],
    ['processes', 'Delegate one.'],
    ['cpu', 'Delegate one.'],
    ['exit_status', 'Linux 6.15 or newer.'],
  ]);
});

test('a refusal is the reason, and what was not reached is missing', async () => {
  const refusal = { kind: 'refused', code: 'sandbox.unsupported', message: 'AppArmor.', fix: 'A profile.' } as const;
  const report = await probeBubblewrap({ ...sceneContext({ refusal }), bubblewrap: undefined });
  expect(report).toMatchObject({ state: 'unavailable', reason: 'AppArmor.', fix: 'A profile.' });
  expect(report.layers.map(({ state }) => state)).toEqual([
    'enforced',
    ...BUBBLEWRAP_LAYERS.slice(1).map(() => 'missing'),
  ]);
  expect(report.layers[1]?.fix).toContain('Install the package bubblewrap');
});
