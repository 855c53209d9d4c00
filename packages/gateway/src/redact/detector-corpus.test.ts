import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createRedactor } from './create-redactor.ts';
import { type DetectorCorpus, type DetectorReport, detectorReport } from './detector-report.ts';
import { TOKEN_SHAPES } from './token-shapes.ts';

const VECTORS = new URL('../../../../tests/vectors/redact/', import.meta.url);

function corpus(): DetectorCorpus {
  const read = (name: string) => JSON.parse(readFileSync(new URL(name, VECTORS), 'utf8'));
  return { positives: read('positives.json'), negatives: read('negatives.json') };
}

const report: DetectorReport = detectorReport(corpus(), createRedactor().redactText);
console.log(report.lines.join('\n'));

const missed = (kind: string) => report.falseNegatives.find((rate) => rate.kind === kind);

test('no token with a shape of its own is missed, wherever it stands', () => {
  expect(missed('token')?.cases).toEqual([]);
});

test('of random values known by their name at most one in fifty is missed', () => {
  expect(missed('setting')?.rate).toBeLessThanOrEqual(0.02);
});

test('what is known to be missed is printed with the rest', () => {
  expect(missed('weak')?.total).toBeGreaterThan(30);
  expect(report.lines.filter((line) => line.includes('false negatives, weak:')).length).toBe(1);
});

test('no text without a credential is changed', () => {
  expect(report.falsePositivesInAll.total).toBeGreaterThan(250);
  expect(report.falsePositives.flatMap(({ cases }) => cases)).toEqual([]);
});

test('a detector that hides nothing, or everything, fails by this report', () => {
  const rates = (redact: (text: string) => string) => {
    const { falseNegatives, falsePositivesInAll } = detectorReport(corpus(), redact);
    return { missed: falseNegatives.map(({ rate }) => rate), changed: falsePositivesInAll.rate };
  };
  expect(rates((text) => text)).toEqual({ missed: [1, 1, 1], changed: 0 });
  expect(rates(() => '[detected:all]')).toEqual({ missed: [1, 1, 1], changed: 1 });
});

test('ids are names that a mask can hold', () => {
  expect(TOKEN_SHAPES.map(({ id }) => id).filter((id) => !/^[a-z][a-z\d-]+$/.test(id))).toEqual([]);
});
