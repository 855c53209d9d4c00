import { afterEach, expect, test } from 'vitest';
import { endRunaways, LAUNCHER_UID, type Scene, sceneContext } from '../../probe/scripted-sandbox.ts';
import { LIMITS_LAYERS, probeLimits } from './probe.ts';

afterEach(endRunaways);

async function notEnforced(scene: Scene): Promise<readonly string[]> {
  const { layers } = await probeLimits(sceneContext(scene));
  expect(layers.map(({ layer }) => layer)).toEqual(LIMITS_LAYERS);
  return layers.filter(({ state }) => state !== 'enforced').map(({ layer, state }) => `${layer} ${state}`);
}

test('where every limit holds, Tier B is available', async () => {
  expect(await probeLimits(sceneContext())).toMatchObject({
    tier: 'B',
    executor: 'sandbox_tier_b',
    state: 'available',
    reason: undefined,
  });
  expect(await notEnforced({})).toEqual([]);
});

test.each<[string, Scene, string]>([
  ['root', { tool: { uid: 0 } }, 'identity'],
  ['setuid programs', { tool: { noNewPrivileges: false } }, 'no_new_privs'],
  ['a capability', { tool: { capabilities: '0000000000000001' } }, 'capabilities'],
  ['no workspace', { answers: { keep_work: 'no' } }, 'workspace'],
  ["palyrad's variables", { answers: { find_variable: 'yes' } }, 'environment'],
  ["palyrad's open files", { answers: { find_descriptor: 'yes' } }, 'environment'],
  ['core dumps unlimited', { facts: { rlimits: { cpu: 1, nofile: 1, fsize: 1, nproc: 1 } } }, 'rlimits'],
  ['a runaway', { leavesRunaway: true }, 'tree_kill'],
])('a tool with %s is no Tier B', async (_what, scene, layer) => {
  expect((await probeLimits(sceneContext(scene))).state).toBe('unavailable');
  expect(await notEnforced(scene)).toEqual([`${layer} missing`]);
});

test.each<[string, Scene, readonly string[]]>([
  [
    'no Landlock',
    { landlockVersion: 0, facts: { landlock: undefined } },
    ['landlock_files missing', 'landlock_ptrace missing', 'landlock_signals missing'],
  ],
  ['a hidden file in sight', { answers: { read_hidden: 'yes' } }, ['landlock_files missing']],
  ['memory of others in sight', { answers: { look_into_peer: 'yes' } }, ['landlock_ptrace missing']],
  ['signals to others', { answers: { signal_peer: 'yes' } }, ['landlock_signals missing']],
  ['an old Landlock', { landlockVersion: 5 }, ['landlock_signals partly']],
  ["palyrad's own uid", { tool: { uid: LAUNCHER_UID } }, ['identity partly']],
])('%s is said', async (_what, scene, found) => {
  expect(await notEnforced(scene)).toEqual(found);
});

test('what is refused to agents is looked at as the operator gets it', async () => {
  const report = await probeLimits(sceneContext({ refusesAgents: true }));
  expect(report).toMatchObject({ state: 'operator_only', reason: 'Not for agents.', fix: 'Use C.' });
  expect(report.layers.every(({ state }) => state === 'enforced')).toBe(true);
});

test('where nothing starts, all but the launcher is missing', async () => {
  const refusal = { kind: 'refused', code: 'sandbox.start_failed', message: 'No.', fix: undefined } as const;
  const report = await probeLimits(sceneContext({ refusal }));
  expect([report.state, report.reason]).toEqual(['unavailable', 'No.']);
  expect(report.layers.map(({ state }) => state)).toEqual(['enforced', ...LIMITS_LAYERS.slice(1).map(() => 'missing')]);
});
