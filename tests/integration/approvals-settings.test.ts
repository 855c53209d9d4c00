import { DEFAULT_APPROVAL_LIMITS, limitsOf } from '@palyra/approvals';
import { parseConfig } from '@palyra/config';
import { expect, test } from 'vitest';

function limitsIn(toml: string) {
  return limitsOf(parseConfig(toml, 'palyra.toml').config.approvals);
}

test('a file that says nothing of approvals gives the limits that the reference page has', () => {
  expect(limitsIn('')).toEqual(DEFAULT_APPROVAL_LIMITS);
});

test('what the operator sets is what holds', () => {
  const toml = `[approvals]
timeout_minutes = 5
timeboxed_hours = 1
questions_per_hour = 7
cool_down_minutes = 0
`;
  expect(limitsIn(toml)).toEqual({
    ...DEFAULT_APPROVAL_LIMITS,
    questionMs: 300_000,
    timeboxMs: 3_600_000,
    questionsPerWindow: 7,
    coolDownMs: 0,
  });
});

test.each(['unattended = "allow"', 'timeout_minutes = 0', 'timeboxed_hours = 100000'])('%s is refused', (line) => {
  expect(() => limitsIn(`[approvals]\n${line}\n`)).toThrow(expect.objectContaining({ code: 'config.invalid_value' }));
});
