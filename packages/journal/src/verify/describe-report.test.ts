import { expect, test } from 'vitest';
import { describeReport } from './describe-report.ts';
import type { ExportReport } from './verify-export.ts';

const SELECTION: ExportReport = {
  kind: 'sound',
  of: 'selection',
  origin: 'palyra/x',
  rootKey: 'ab',
  size: 9,
  root: 'cd',
  filter: {},
  established: { level: 'witnessed', size: 7, time: 1_700_000_000, witness: 'witness.example' },
  counts: { entries: 2, checkpoints: 1, attestations: 1, bodies: { checked: 1, erased: 2, leftOut: 3 } },
  remarks: ['a remark'],
};

test('a sound report says what it establishes and what it holds', () => {
  expect(describeReport({ of: 'export', report: SELECTION })).toEqual({
    verdict: 'sound',
    headline: 'The export is signed under the key that you gave, and a witness saw it.',
    facts: [
      ['Holds', '2 selected entries'],
      ['Attestations', '1'],
      ['Checkpoints', '1'],
      ['Bodies', '1 checked, 2 erased, 3 not in the file'],
      ['Log', 'palyra/x, 9 entries'],
      ['Witness', 'witness.example, at size 7, 2023-11-14T22:13:20.000Z'],
      ['Root key', 'ab'],
    ],
    remarks: ['a remark'],
  });
});

test('a broken one says why, and nothing in it can draw on the screen', () => {
  const finding = { code: 'entry_edited', seq: 3, why: 'bad\u001b[2J\nVerified' } as const;
  const { verdict, facts } = describeReport({ of: 'bundle', report: { kind: 'broken', origin: 'palyra/x', finding } });
  expect(verdict).toBe('broken');
  expect(facts.find(([label]) => label === 'First bad entry')).toEqual(['First bad entry', '3']);
  for (const control of ['\u001b', '\n']) expect(facts[0]?.[1]).not.toContain(control);
});

test('a time that no calendar has does not stop the report', () => {
  const established = { level: 'witnessed', size: 7, time: Number.MAX_SAFE_INTEGER, witness: 'w' } as const;
  const { facts } = describeReport({ of: 'export', report: { ...SELECTION, established } });
  expect(facts.find(([label]) => label === 'Witness')?.[1]).toMatch(/^w, at size 7, \d/);
});
