import { expect, it } from 'vitest';
import type { Entry } from './read-entries.ts';
import { fingerprintOf, readSnapshot, type Snapshot, writeSnapshot } from './snapshot.ts';

const ENTRY: Entry = {
  path: '/w/x\udcff/.envrc',
  root: '/w',
  within: '.envrc',
  rule: 'whole',
  reason: 'why',
  kind: 'file',
  mode: 0o640,
  uid: 1,
  gid: 2,
  links: 1,
  stamp: '1-2-3-4-5',
  changedAtMs: 7,
  size: 3,
  readAtMs: Number.NEGATIVE_INFINITY,
  bytes: Buffer.from([0, 255, 10]),
  target: undefined,
};

const SNAPSHOT: Snapshot = {
  place: { roots: ['/w'], lifted: ['/w/CLAUDE.md'] },
  before: {
    entries: new Map([[ENTRY.path, ENTRY]]),
    sightings: [],
    ledTo: [{ path: '/w/a', rule: 'link', hold: 'never', reason: 'why' }],
    gitDirectories: new Set(['/w/.git']),
    gitTargets: new Set(['/w/.git']),
    bulk: new Map([['/w/node_modules', '1-2']]),
    older: new Set(),
    unlooked: new Set(['/w/closed']),
    overfull: new Map(),
  },
};

it('is read as it was written, bytes and odd names included', () => {
  expect(readSnapshot(writeSnapshot(SNAPSHOT))).toEqual(SNAPSHOT);
});

it.each(['', '{', '{}', '{"format":"palyra-protected-0"}'])('is none: %j', (text) => {
  expect(readSnapshot(text)).toBeUndefined();
});

it('has another fingerprint when something in it is another', () => {
  const entries = new Map([[ENTRY.path, { ...ENTRY, stamp: '1-2-3-4-6' }]]);
  const changed = { ...SNAPSHOT, before: { ...SNAPSHOT.before, entries } };
  expect(fingerprintOf(changed)).not.toBe(fingerprintOf(SNAPSHOT));
  expect(fingerprintOf({ ...SNAPSHOT })).toBe(fingerprintOf(SNAPSHOT));
});
