import { describe, expect, test } from 'vitest';
import type { Paint } from '../render/paint.ts';
import { hintLine } from './hint-line.ts';

const plain: Paint = (_, text) => text;
const HINTS = [
  { kind: 'network', what: 'The command was run without a network.', fix: 'Name the hosts.' },
  { kind: 'read_only', what: 'It wrote elsewhere.', fix: 'Write here.' },
];

describe('the hint after a command', () => {
  test.each(['completed', 'failed'])('is the likeliest one: %s', (kind) => {
    expect(hintLine({ outcome: { kind, output: { hints: HINTS } } }, plain)).toBe(
      'hint: The command was run without a network. Name the hosts.\n',
    );
  });

  test.each(['refused', 'timed_out', 'quota_exceeded', 'cancelled'])('is not told beside a fix: %s', (kind) => {
    expect(hintLine({ outcome: { kind, output: { hints: HINTS } } }, plain)).toBe('');
  });

  test.each([
    undefined,
    null,
    'text',
    [],
    {},
    { hints: {} },
    { hints: [] },
    { hints: [null] },
    { hints: [{ what: 1, fix: 2 }] },
  ])('is none where there is none: %j', (output) => {
    expect(hintLine({ outcome: { kind: 'completed', output } }, plain)).toBe('');
  });

  test('draws nothing on the screen', () => {
    const hints = [{ kind: 'network', what: 'A \u001b[2J host.', fix: 'Do.\nOr not.' }];
    expect(hintLine({ outcome: { kind: 'completed', output: { hints } } }, plain)).toBe(
      'hint: A \\u{1B}[2J host. Do.\\nOr not.\n',
    );
  });
});
