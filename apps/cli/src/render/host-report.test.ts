import { stripVTControlCharacters } from 'node:util';
import type { HostReport, LayerReport, TierReport } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { hostReportAsJson, renderHostReport } from './host-report.ts';
import { choosePaint, plainPaint } from './paint.ts';

const colour = choosePaint({ isTerminal: true, variables: {} });
const DELEGATE = 'Start palyrad as a service with Delegate=cpu memory pids, or as root, so that it gets a cgroup.';

function layer(name: string, state: LayerReport['state'], detail: string, fix?: string): LayerReport {
  return { layer: name, state, detail, fix };
}

const unreached = (name: string) => layer(name, 'missing', 'Not reached: nothing starts here.');

const WITHOUT_BUBBLEWRAP: TierReport = {
  tier: 'C',
  executor: 'sandbox_tier_c_linux_bubblewrap',
  state: 'unavailable',
  reason: 'Tier C needs bubblewrap, and there is none.',
  fix: 'apt-get install bubblewrap (or the package of that name of your own distribution).',
  layers: [
    layer('launcher', 'enforced', 'Starts.'),
    layer('bubblewrap', 'missing', 'There is none at the places of system programs.', 'Install the package.'),
    unreached('identity'),
    unreached('namespace_user'),
    unreached('seccomp'),
  ],
};

const LIMITED: TierReport = {
  tier: 'B',
  executor: 'sandbox_tier_b',
  state: 'available',
  reason: undefined,
  fix: undefined,
  layers: [
    layer('launcher', 'enforced', 'Starts.'),
    layer('memory', 'partly', 'Of each process only, so times their number.', DELEGATE),
    layer('processes', 'partly', 'Counted by the user, together with its other processes.', DELEGATE),
    layer('tree_kill', 'enforced', 'A runaway in another session was ended too.'),
  ],
};

const REPORT: HostReport = {
  kernel: '6.8.0-35-generic',
  architecture: 'x64',
  uid: 1000,
  bubblewrap: undefined,
  tiers: [WITHOUT_BUBBLEWRAP, LIMITED],
};

test('a person reads what is there, what is not, and what to do', () => {
  expect(renderHostReport(REPORT, plainPaint)).toBe(`\
This host: Linux 6.8.0-35-generic on x64, as uid 1000

Tier C (strict): a wall around each command
unavailable: Tier C needs bubblewrap, and there is none.
fix: apt-get install bubblewrap (or the package of that name of your own
     distribution).

  launcher        enforced  Starts.
  bubblewrap      missing   There is none at the places of system programs.
                            fix: Install the package.
  identity        missing   Not reached: nothing starts here.
  and 2 more like that

Tier B (limits): limits and no wall, the host's files stay in sight
available: 2 of 4 layers hold in full.

  launcher   enforced  Starts.
  memory     partly    Of each process only, so times their number.
  processes  partly    Counted by the user, together with its other processes.
                       fix: Start palyrad as a service with Delegate=cpu memory
                            pids, or as root, so that it gets a cgroup.
  tree_kill  enforced  A runaway in another session was ended too.
`);
});

test('where all layers hold, none is left out', () => {
  const whole: TierReport = { ...LIMITED, layers: ['a', 'b', 'c'].map((name) => layer(name, 'enforced', 'None.')) };
  const shown = renderHostReport({ ...REPORT, uid: 0, tiers: [whole] }, plainPaint);
  expect(shown).toContain('as root\n');
  expect(shown).toContain('available: all 3 layers hold.\n\n  a  enforced  None.\n  b  enforced  None.\n  c  enforced');
});

test('a tier for the operator alone says so', () => {
  const tier: TierReport = { ...LIMITED, state: 'operator_only', reason: 'No Landlock.', fix: 'Use Tier C.' };
  expect(renderHostReport({ ...REPORT, tiers: [tier] }, plainPaint)).toContain(
    'operator only: No Landlock.\nfix: Use Tier C.\n',
  );
});

test('colour changes no letter, and no line is longer than 80 columns', () => {
  const plain = renderHostReport(REPORT, plainPaint);
  expect(renderHostReport(REPORT, colour)).not.toBe(plain);
  expect(stripVTControlCharacters(renderHostReport(REPORT, colour))).toBe(plain);
  expect(plain.split('\n').filter((line) => line.length > 80)).toEqual([]);
});

test('nothing of the host reaches the terminal as it is', () => {
  const shown = renderHostReport({ ...REPORT, kernel: '6.8\u001b[2J', tiers: [] }, plainPaint);
  expect(shown).toBe('This host: Linux 6.8\\u{1B}[2J on x64, as uid 1000\n');
});

test('a program gets the same, with null for what is not there', () => {
  expect(hostReportAsJson({ ...REPORT, tiers: [LIMITED] })).toEqual({
    kernel: '6.8.0-35-generic',
    architecture: 'x64',
    uid: 1000,
    bubblewrap: null,
    tiers: [
      {
        tier: 'B',
        executor: 'sandbox_tier_b',
        state: 'available',
        reason: null,
        fix: null,
        layers: LIMITED.layers.map((each) => ({ ...each, fix: each.fix ?? null })),
      },
    ],
  });
  expect(hostReportAsJson({ ...REPORT, bubblewrap: { path: '/usr/bin/bwrap', version: undefined } })).toMatchObject({
    bubblewrap: { path: '/usr/bin/bwrap', version: null },
  });
});
