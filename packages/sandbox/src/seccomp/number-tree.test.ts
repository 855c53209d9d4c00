import { describe, expect, it } from 'vitest';
import { describeSeccomp } from './describe-seccomp.ts';
import { type NumberRule, numberTree, stretchesOf, verdictKey } from './number-tree.ts';

const WHY = 'for this test';
const always = (number: number): NumberRule => ({
  kind: 'calls',
  calls: [{ name: 'some', number }],
  when: [],
  action: 'EPERM',
  why: WHY,
});
const sometimes = (number: number): NumberRule => ({
  kind: 'calls',
  calls: [{ name: 'some', number }],
  when: [{ argument: 0, mask: 1, is: 'one_of', values: [1] }],
  action: 'EPERM',
  why: WHY,
});
const newer: NumberRule = { kind: 'numbers', first: 10, last: 0xffff_ffff, action: 'ENOSYS', why: WHY };

describe('stretchesOf', () => {
  it('covers all numbers, and joins neighbours that end alike', () => {
    const stretches = stretchesOf([newer, always(3), always(4), sometimes(6)]);
    expect(stretches.map((stretch) => [stretch.first, verdictKey(stretch).slice(0, 6)])).toEqual([
      [0, ''],
      [3, 'EPERM'],
      [5, ''],
      [6, 'EPERM '],
      [7, ''],
      [10, 'ENOSYS'],
    ]);
  });

  it('keeps the order of the rules, and none behind one that always holds', () => {
    const [, stretch] = stretchesOf([sometimes(3), always(3), sometimes(3)]);
    expect(stretch?.rules).toEqual([sometimes(3), always(3)]);
  });
});

describe('numberTree', () => {
  it('comes to an end after a few comparisons', () => {
    const rules = describeSeccomp({ arch: 'x86_64', unixSockets: 'refused' }).rules;
    const stretches = stretchesOf(rules.filter((rule) => rule.kind === 'numbers' || rule.kind === 'calls'));
    const jumps = numberTree(stretches, ({ first }) => `at ${first}`).filter(({ kind }) => kind === 'jump_if');
    expect(jumps).toHaveLength(stretches.length - 1);
    expect(Math.ceil(Math.log2(stretches.length))).toBeLessThan(8);
  });

  it('asks nothing where there is nothing to tell apart', () => {
    expect(numberTree(stretchesOf([]), () => 'allow')).toEqual([]);
  });
});
