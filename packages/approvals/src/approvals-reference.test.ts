import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { APPROVAL_ERRORS, APPROVAL_REFUSALS } from './approval-error.ts';
import { DEFAULT_APPROVAL_LIMITS } from './approval-limits.ts';

const PAGE = readFileSync(new URL('../../../docs/reference/approvals.md', import.meta.url), 'utf8');

test('the page names every refusal and every error', () => {
  const known = new Set(PAGE.match(/(?<=`)[\w.]+(?=`)/g));
  const names = [...Object.keys(APPROVAL_REFUSALS), ...Object.keys(APPROVAL_ERRORS)];
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test('the page says the limits as they are', () => {
  const {
    questionMs,
    pendingPerPrincipal,
    questionsPerWindow,
    coolDownAfter,
    coolDownMs,
    denialHoldsMs,
    denialWindowMs,
    waitingPerCard,
    clockSkewMs,
  } = DEFAULT_APPROVAL_LIMITS;
  const rows = [
    `| a question stays open | ${questionMs / 60_000} minutes |`,
    `| open questions of one principal | ${pendingPerPrincipal} |`,
    `| questions of one principal in an hour | ${questionsPerWindow} |`,
    `| denials in a row (within ${denialWindowMs / 60_000} minutes) before a pause | ${coolDownAfter} |`,
    `| pause | ${coolDownMs / 60_000} minutes |`,
    `| a denial answers the very same question again | ${denialHoldsMs / 60_000} minutes |`,
    `| calls that wait for one answer | ${waitingPerCard} |`,
    `| clocks of a yes may differ by | ${clockSkewMs / 1_000} seconds |`,
  ];
  for (const row of rows) expect(PAGE).toContain(row);
});
