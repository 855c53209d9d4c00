import { parseId, sha256Hex } from '@palyra/primitives';
import { expect, test } from 'vitest';
import { type DecisionStatement, parseStatement, signedBytes, statementText } from './decision-statement.ts';

const STATEMENT: DecisionStatement = {
  format: 'palyra.approval/2',
  origin: 'palyra/x',
  approval_id: parseId('approval', '01J00000000000000000000000'),
  subject: sha256Hex('subject'),
  decision: 'approve',
  scope: 'session',
  pattern: { effects: [], principal: 'agent:a', workspace: 'w', session: 's' },
  expires_at: 2,
  prompt: sha256Hex('prompt'),
  decider: 'ada',
  credential: 'key',
  device: null,
  assurance: 'same_host_key',
  decided_at: 1,
  reason: null,
};

test('a statement is read back from its text', () => {
  expect(parseStatement(statementText(STATEMENT))).toEqual(STATEMENT);
});

test('any other spelling, and any other field, is no statement', () => {
  const text = statementText(STATEMENT);
  const others = [
    '',
    'null',
    '[]',
    ` ${text}`,
    text.replace('"reason":null', '"reason":null,"extra":1'),
    text.replace(',"reason":null', ''),
    text.replace('"decided_at":1', '"decided_at":1.0'),
    text.replace('"decided_at":1', '"decided_at":-1'),
    text.replace('palyra.approval/2', 'palyra.approval/3'),
    text.replace('"approve"', '"maybe"'),
    text.replace('"session"', '"forever"'),
    text.replace('"scope"', '"scope":"once","scope"'),
    text.replace('"ada"', '""'),
    text.replace('"effects":[]', '"effects":null'),
  ];
  for (const other of others) expect([other, parseStatement(other)]).toEqual([other, undefined]);
});

test('one of the earlier form is still read', () => {
  const earlier = { ...STATEMENT, format: 'palyra.approval/1' } as const;
  expect(parseStatement(statementText(earlier))).toEqual(earlier);
});

test('what is signed begins with what it is for', () => {
  expect(new TextDecoder().decode(signedBytes('{}'))).toBe('palyra/approval-statement/v1\n{}');
});
