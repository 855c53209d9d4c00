import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseGitConfig } from '../../packages/sandbox/src/protect/git-config.ts';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'palyra-git-config-'));
});
afterAll(() => {
  rmSync(place, { recursive: true });
});

/** `section.sub.key`, a line feed and the value, each ended by a NUL; undefined when git refuses the file. */
function asGit(text: string): readonly string[] | undefined {
  const file = join(place, 'config');
  writeFileSync(file, text);
  const { status, stdout } = spawnSync('git', ['config', '--no-includes', '-z', '-f', file, '--list'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: place, GIT_CONFIG_NOSYSTEM: '1' },
  });
  return status === 0 ? stdout.split('\0').slice(0, -1).map(spaced) : undefined;
}

function asOurs(text: string): readonly string[] | undefined {
  return parseGitConfig(text)?.map(({ section, subsection, key, value }) => {
    const name = [section, ...(subsection === undefined ? [] : [subsection]), key].join('.');
    return spaced(value === undefined ? name : `${name}\n${value}`);
  });
}

/** Versions of git differ in what becomes of a tab between two words. */
function spaced(text: string): string {
  return text.replaceAll('\t', ' ');
}

const PIECES =
  String.raw`[core] [Core] [a_"b"] [a_"B\"c"] [a.b] [a_ " \ \~ ~ \r~ \r = _=_ _ \t # ; key fsMonitor x-y 1 \n \" \q ] [ . value "a_b"`
    .split(' ')
    // A space and a line feed are written otherwise: these separate words here.
    .map((text) => text.replaceAll('_', ' ').replaceAll('~', '\n').replace(/^\\r/, '\r').replace(/^\\t$/, '\t'));
const piece = fc.constantFrom('\ufeff', ...PIECES);

// SECURITY: T-15 — what git reads and we do not see is a way around the whole check.
test('what git reads is what we read, or we say that we cannot', () => {
  expect.hasAssertions();
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), fc.boolean(), (pieces, isBegun) => {
      const text = `${isBegun ? '[core]\n' : ''}${pieces.join('')}`;
      const theirs = asGit(text);
      // Undefined counts as dangerous, and what git refuses does nothing.
      expect(theirs === undefined ? undefined : (asOurs(text) ?? theirs)).toEqual(theirs);
    }),
    { numRuns: 250 },
  );
});

test('and we can, of what people write', () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,6}$/);
  const value = fc.constantFrom(
    'true',
    '"a b"',
    'a b  ',
    '+refs/heads/*:refs/remotes/o/*',
    'x ; why',
    'a\\\n  b',
    '"\\t\\"q"',
  );
  const section = fc.oneof(
    word,
    fc.tuple(word, fc.constantFrom('main', 'A/b', 'x y')).map(([a, b]) => `${a} "${b}"`),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(section, word, value), { minLength: 1, maxLength: 5 }), (lines) => {
      const text = lines.map(([name, key, set]) => `[${name}]\n\t${key} = ${set}\n`).join('# so\n');
      const theirs = asGit(text);
      expect(theirs).toBeDefined();
      expect(asOurs(text)).toEqual(theirs);
    }),
    { numRuns: 60 },
  );
});
