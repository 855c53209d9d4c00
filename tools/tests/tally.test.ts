import { describe, expect, it } from 'vitest';
import { judge, type SuiteTally } from './tally.ts';

const CLEAN: SuiteTally = { suite: 'unit', files: 2, passed: 7, failed: [], skipped: [], faults: [] };

const LINUX_ROOT = { platform: 'linux', isRoot: true };

describe('judge', () => {
  it('adds the suites up', () => {
    expect(judge([CLEAN, { ...CLEAN, suite: 'attack', passed: 3 }])).toEqual({
      failures: [],
      skipped: [],
      line: 'tests: 10 passed, 0 failed, 0 skipped',
    });
  });

  it('accepts a skip that names a platform this is not, and lists it', () => {
    const skipped = [{ name: 'seatbelt refuses [platform: darwin]', reason: 'no sandbox-exec' }];
    expect(judge([{ ...CLEAN, skipped }], LINUX_ROOT)).toEqual({
      failures: [],
      skipped: ['seatbelt refuses [platform: darwin]: no sandbox-exec'],
      line: 'tests: 7 passed, 0 failed, 1 skipped',
    });
  });

  it('accepts a skip of what only root may do, unless we are root', () => {
    const skipped = [{ name: 'mounts a disk [needs: root]', reason: '' }];
    expect(judge([{ ...CLEAN, skipped }], { platform: 'linux', isRoot: false }).failures).toEqual([]);
    expect(judge([{ ...CLEAN, skipped }], LINUX_ROOT).failures).toHaveLength(1);
  });

  it.each([
    'bubblewrap hides the home',
    'bubblewrap hides the home [platform: linux]',
    'bubblewrap hides the home [platform: a mood]',
    'bubblewrap hides the home [needs: luck]',
  ])('counts a skip without excuse as failed: %s', (name) => {
    const verdict = judge([{ ...CLEAN, skipped: [{ name, reason: 'bwrap not found' }] }], LINUX_ROOT);
    expect(verdict.line).toBe('tests: 7 passed, 1 failed, 0 skipped');
    expect(verdict.failures).toEqual([`skipped, though nothing in its name excuses it: ${name}: bwrap not found`]);
  });

  it('counts a suite whose files ran nothing as failed', () => {
    expect(judge([{ ...CLEAN, passed: 0 }])).toEqual({
      failures: ['unit: 2 test files and not one test ran'],
      skipped: [],
      line: 'tests: 0 passed, 1 failed, 0 skipped',
    });
  });

  it('lets a suite without files be', () => {
    expect(judge([{ ...CLEAN, files: 0, passed: 0 }]).failures).toEqual([]);
  });

  it('names each test that failed, and what went wrong outside of them', () => {
    const failed = ['first', 'second'].map((name) => ({ name: `a.test.ts > ${name}`, message: 'expected 1 to be 2' }));
    expect(judge([{ ...CLEAN, failed, faults: ['a.test.ts does not load'] }])).toEqual({
      failures: [
        'a.test.ts > first: expected 1 to be 2',
        'a.test.ts > second: expected 1 to be 2',
        'unit: a.test.ts does not load',
      ],
      skipped: [],
      line: 'tests: 7 passed, 3 failed, 0 skipped',
    });
  });
});
