import { expect, test } from 'vitest';
import { assessRisk } from './assess-risk.ts';
import type { PromptFacts } from './prompt-facts.ts';

const HARMLESS: PromptFacts = {
  action: { kind: 'command', argv: ['ls'] },
  cwd: '/work',
  workspacePath: '/work',
  hosts: [],
  knownHosts: [],
  hasOpenNetwork: false,
  secrets: [],
  tier: 'C',
  outsidePaths: [],
  protectedPaths: [],
  notBound: [],
  agentSays: null,
};

test('a call that stays in its box is a low risk', () => {
  expect(assessRisk({ facts: HARMLESS, leftOut: 0, hasDoubtfulHost: false })).toEqual({ level: 'low', reasons: [] });
});

test('the highest reason gives the level, and all of them are told', () => {
  const facts: PromptFacts = { ...HARMLESS, tier: 'B', secrets: ['token'], hosts: ['a.example:443'] };
  expect(assessRisk({ facts, leftOut: 0, hasDoubtfulHost: false })).toEqual({
    level: 'high',
    reasons: ['It runs under limits only, not in a box.', 'It uses secrets.', 'It connects to other hosts.'],
  });
  const medium = { facts: { ...HARMLESS, outsidePaths: ['/etc'] }, leftOut: 0, hasDoubtfulHost: false };
  expect(assessRisk(medium).level).toBe('medium');
});

test.each([
  ['what is left out', { facts: HARMLESS, leftOut: 1, hasDoubtfulHost: false }],
  ['a doubtful host', { facts: HARMLESS, leftOut: 0, hasDoubtfulHost: true }],
  [
    'a protected file',
    { facts: { ...HARMLESS, protectedPaths: ['.git/hooks/x'] }, leftOut: 0, hasDoubtfulHost: false },
  ],
])('%s makes it high', (_what, input) => {
  expect(assessRisk(input).level).toBe('high');
});
