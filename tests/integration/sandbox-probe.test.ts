import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createReportStore, type HostReport, probeHost } from '@palyra/sandbox';
import { ordinaryUser, removeOrdinaryUser, runAsOrdinaryUser } from '@palyra/testkit';
import { afterAll, expect, test } from 'vitest';
import { type Confinement, runConfined } from './confined-user.ts';

const isRoot = process.geteuid?.() === 0;
/** As somebody else the probe is run by the one command that shows all of it. */
const MAIN = 'apps/cli/src/main.ts';
const DOCTOR = ['doctor', '--json'];

afterAll(removeOrdinaryUser);

function leftBehind(directory: string): readonly string[] {
  return readdirSync(directory).filter((name) => name.startsWith('palyra-probe-'));
}

function notEnforced({ tiers }: HostReport, wanted: 'B' | 'C'): readonly string[] {
  const layers = tiers.find(({ tier }) => tier === wanted)?.layers ?? [];
  return layers.filter(({ state }) => state !== 'enforced').map(({ layer, state }) => `${layer} ${state}`);
}

function probeHere(store = createReportStore()): Promise<HostReport> {
  return probeHost({
    operator: { path: '/usr/bin:/bin', home: '/root', palyraHome: '/root/.palyra', environment: {} },
    logger: { error: () => undefined },
    temporaryDirectory: tmpdir(),
    store,
  });
}

async function probeAsUser(): Promise<HostReport> {
  const { exitCode, stdout, stderr } = await runAsOrdinaryUser({ script: MAIN, args: DOCTOR });
  expect([exitCode, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as HostReport;
}

test.skipIf(!isRoot)('as root every tier is available, its tools are another user’s [needs: root]', async () => {
  const before = leftBehind(tmpdir());
  const report = await probeHere();
  expect(report.tiers.map(({ tier, state, reason }) => [tier, state, reason])).toEqual([
    ['C', 'available', undefined],
    ['B', 'available', undefined],
  ]);
  expect([report.uid, report.bubblewrap?.version]).toEqual([0, expect.stringMatching(/^\d+\.\d+/)]);
  const identity = report.tiers[0]?.layers.find(({ layer }) => layer === 'identity');
  expect(identity?.detail).toMatch(/^uid [1-9]\d* on the host, without other groups\.$/);
  expect(leftBehind(tmpdir())).toEqual(before);
});

test('a report that is kept is not probed again', async () => {
  const store = createReportStore();
  const first = await probeHere(store);
  const second = await probeHere(store);
  expect(second.tiers.map((tier, at) => tier === first.tiers[at])).toEqual(
    first.tiers.map(({ state }) => state === 'available'),
  );
});

test('as an ordinary user every tier is available, and what a cgroup would hold is said', async () => {
  const { home, uid } = await ordinaryUser();
  const report = await probeAsUser();
  expect([report.uid, ...report.tiers.map(({ state }) => state)]).toEqual([uid, 'available', 'available']);
  const atMost = (allowed: readonly string[], found: readonly string[]) =>
    found.filter((each) => !allowed.includes(each));
  const cgroups = ['memory partly', 'processes partly', 'cpu partly'];
  // A user who is not ours keeps the groups that it has.
  expect(atMost(isRoot ? cgroups : [...cgroups, 'identity partly'], notEnforced(report, 'C'))).toEqual([]);
  expect(atMost([...cgroups, 'identity partly'], notEnforced(report, 'B'))).toEqual([]);
  expect(leftBehind(home)).toEqual([]);
});

test.skipIf(!isRoot).each<[Confinement, RegExp, RegExp]>([
  ['no user namespaces', /^User namespaces are off \(user\.max_user_namespaces = 0\)\.$/, /sysctl -w user\.max_user/],
  ['no user namespaces, and shared mounts', /^User namespaces are off /, /sysctl -w user\.max_user/],
  ['no network namespaces', /^There may be no further namespace here: /, /raise those limits/],
  ['a masked /proc', /^A \/proc of its own is refused/, /systempaths=unconfined/],
  ['a seccomp filter', /^The seccomp filter of the container/, /seccomp=unconfined/],
])('with %s Tier C is refused, with reason and fix [needs: root]', async (confinement, reason, fix) => {
  const { exitCode, stdout, stderr } = await runConfined(confinement, MAIN, DOCTOR);
  expect([exitCode, stderr]).toEqual([5, '']);
  const { tiers } = JSON.parse(stdout) as HostReport;
  expect(tiers[0]).toMatchObject({
    tier: 'C',
    state: 'unavailable',
    reason: expect.stringMatching(reason),
    fix: expect.stringMatching(fix),
  });
  expect(tiers[0]?.layers.slice(0, 3).map(({ state }) => state)).toEqual(['enforced', 'enforced', 'missing']);
  // What needs no namespace is not taken away with it.
  expect(tiers[1]).toMatchObject({ tier: 'B', state: 'available' });
});
