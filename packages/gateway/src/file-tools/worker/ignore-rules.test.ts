import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseIgnoreRules } from './ignore-rules.ts';

const RULES = ['# comment', '*.log', '!keep.log', '/top', 'build/', 'a/b', '**/deep/x', 'dir/**', 'brace{a}', 'sp\\ '];
const PATHS = [
  'x.log',
  'sub/x.log',
  'keep.log',
  'sub/keep.log',
  'top',
  'sub/top',
  'a/b',
  'sub/a/b',
  'p/q/deep/x',
  'dir/y',
  'brace{a}',
  'bracea',
  'plain',
];

test('rules mean what git says they mean', () => {
  const place = mkdtempSync(join(tmpdir(), 'palyra-ignore-'));
  try {
    execFileSync('git', ['init', '-q'], { cwd: place });
    writeFileSync(join(place, '.gitignore'), `${RULES.join('\n')}\n`);
    for (const path of PATHS) {
      mkdirSync(join(place, path, '..'), { recursive: true });
      writeFileSync(join(place, path), '');
    }
    const git = spawnSync('git', ['check-ignore', '--no-index', '--stdin'], {
      cwd: place,
      input: PATHS.join('\n'),
      encoding: 'utf8',
    });
    const ours = parseIgnoreRules(RULES.join('\n'));
    expect(PATHS.filter((path) => ours.decide(path, false) === 'ignored')).toEqual(git.stdout.trim().split('\n'));
  } finally {
    rmSync(place, { recursive: true });
  }
});

test('a rule for directories is not about files', () => {
  const rules = parseIgnoreRules('build/\n');
  expect([rules.decide('build', true), rules.decide('build', false), rules.decide('x/build', true)]).toEqual([
    'ignored',
    undefined,
    'ignored',
  ]);
});
