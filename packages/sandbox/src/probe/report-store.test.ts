import { expect, test } from 'vitest';
import type { TierReport } from './host-report.ts';
import { createReportStore, type ReportCircumstances, remembered } from './report-store.ts';

const HERE: ReportCircumstances = {
  tier: 'C',
  kernel: '6.18',
  uid: 0,
  bubblewrapVersion: '0.8.0',
  launcherSha256: 'ab',
};

function report(state: TierReport['state']): TierReport {
  return { tier: 'C', executor: 'x', state, reason: undefined, fix: undefined, layers: [] };
}

function counting(state: TierReport['state']) {
  let probes = 0;
  const probe = () => {
    probes += 1;
    return Promise.resolve(report(state));
  };
  return { probe, count: () => probes };
}

test('the same circumstances are probed once', async () => {
  const store = createReportStore();
  const { probe, count } = counting('available');
  await remembered(store, HERE, probe);
  expect(await remembered(store, { ...HERE }, probe)).toEqual(report('available'));
  expect(count()).toBe(1);
});

test.each<Partial<ReportCircumstances>>([
  { tier: 'B' },
  { kernel: '6.19' },
  { uid: 1000 },
  { bubblewrapVersion: undefined },
  { bubblewrapVersion: '0.9.0' },
  { launcherSha256: 'cd' },
])('other circumstances are probed anew: %o', async (other) => {
  const store = createReportStore();
  const { probe, count } = counting('available');
  await remembered(store, HERE, probe);
  await remembered(store, { ...HERE, ...other }, probe);
  expect(count()).toBe(2);
});

test.each(['unavailable', 'operator_only'] as const)('what was %s is tried again', async (state) => {
  const store = createReportStore();
  const { probe, count } = counting(state);
  await remembered(store, HERE, probe);
  await remembered(store, HERE, probe);
  expect(count()).toBe(2);
});

test('without a store every probe starts anew', async () => {
  const { probe, count } = counting('available');
  await remembered(undefined, HERE, probe);
  await remembered(undefined, HERE, probe);
  expect(count()).toBe(2);
});
