import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { judgeSeparation, measureSeparation, type SeparationFacts } from './measure-separation.ts';

const NONE = '0000000000000000';
const LAUNCHER = { pid: 1, startTicks: 1, uid: 0, gid: 0, landlockVersion: 7, seccompFilters: 0 };
const SERVICE: SeparationFacts = {
  uids: [998, 998, 998, 998],
  capabilities: [NONE, NONE, NONE, NONE],
  isDumpable: false,
  home: { uid: 998, mode: 0o700 },
  launcher: { ...LAUNCHER, only: { uid: 1000, gid: 1000 } },
  others: [1000],
};

test('a service is what has everything', () => {
  expect(judgeSeparation(SERVICE)).toEqual({ level: 'service', missing: [] });
});

test.each<[string, Partial<SeparationFacts>, string]>([
  ['root', { uids: [0, 0, 0, 0], home: { uid: 0, mode: 0o700 } }, 'palyrad is root, or could be again.'],
  ['a saved uid of root', { uids: [998, 998, 0, 998] }, 'palyrad is root, or could be again.'],
  ['ids that cannot be read', { uids: [] }, 'palyrad is root, or could be again.'],
  ['a capability', { capabilities: [NONE, '0000000000000002', NONE, NONE] }, 'palyrad has capabilities.'],
  ['capabilities that cannot be read', { capabilities: [] }, 'palyrad has capabilities.'],
  ['the owner’s uid', { others: [998] }, 'palyrad has the user of the operator or of a workspace’s owner.'],
  [
    'a launcher without root',
    { launcher: { ...SERVICE.launcher, uid: 998 } },
    'The launcher cannot give tools another user than palyrad’s.',
  ],
  ['a launcher for anybody', { launcher: LAUNCHER }, 'The launcher would give a tool any user, for palyrad.'],
  ['a home of others', { home: { uid: 1000, mode: 0o700 } }, 'Others can reach into palyrad’s home, or own it.'],
  ['an open home', { home: { uid: 998, mode: 0o750 } }, 'Others can reach into palyrad’s home, or own it.'],
  ['a home that cannot be seen', { home: undefined }, 'Others can reach into palyrad’s home, or own it.'],
  ['memory that is open', { isDumpable: true }, 'Others with palyrad’s user can look into it.'],
])('%s is personal', (_, change, sentence) => {
  const { level, missing } = judgeSeparation({ ...SERVICE, ...change });
  expect(level).toBe('personal');
  expect(missing).toContain(sentence);
});

test('this very process is one of its user’s', () => {
  const question = { home: tmpdir(), launcher: LAUNCHER, others: [process.geteuid?.() ?? 0] };
  expect(measureSeparation(question).level).toBe('personal');
});
