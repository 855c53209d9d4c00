import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFollower } from './follow-path.ts';
import { type ConfigEntry, parseGitConfig, writeGitConfig } from './git-config.ts';
import { isHarmless } from './harmless-git-config.ts';

const names = (text: string) =>
  parseGitConfig(text)?.map(({ section, subsection, key, value }) => [section, subsection, key, value]);

describe('git’s configuration is read as git reads it', () => {
  it.each([
    ['[core]\n\tbare = false\n', [['core', undefined, 'bare', 'false']]],
    ['[CoRe]FsMonitor="a b" ; why\n', [['core', undefined, 'fsmonitor', 'a b']]],
    [
      '[a "B.c\\"\\\\"] k = 1 # one\n[a.D] k',
      [
        ['a', 'B.c"\\', 'k', '1'],
        ['a', 'd', 'k', undefined],
      ],
    ],
    ['# c\n; d\n[x]\nk = a\\\n b\\tc\n', [['x', undefined, 'k', 'a b\tc']]],
    ['[x]\r\nk = "  a ; b"  \r\n', [['x', undefined, 'k', '  a ; b']]],
    [
      '[x] a = 1\nb = 2',
      [
        ['x', undefined, 'a', '1'],
        ['x', undefined, 'b', '2'],
      ],
    ],
    ['\ufeff[x]a=\n', [['x', undefined, 'a', '']]],
    ['', []],
  ])('%j', (text, expected) => {
    expect(names(text)).toEqual(expected);
  });

  it.each([
    'k = 1',
    '[x',
    '[x "y]\nk=1',
    '[x]\nk = "open\n',
    '[x]\nk = a\\q\n',
    '[x]\nk = a\0b\n',
    '[x]\n1k = 2\n',
    '[x] k j\n',
    '[x]\nk =\r',
    '[x]\nk = a\rb\n',
  ])('what git would not read, or reads in its own way, is not guessed at: %j', (text) => {
    expect(parseGitConfig(text)).toBeUndefined();
  });

  it('what is written is read again', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
    const entry: fc.Arbitrary<ConfigEntry> = fc.record({
      section: word,
      subsection: fc.option(fc.stringMatching(/^[^\n\0\r]{0,12}$/), { nil: undefined }),
      key: word,
      value: fc.option(fc.stringMatching(/^[^\0\r]{0,20}$/), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        expect(parseGitConfig(writeGitConfig(entries))).toEqual(entries);
      }),
    );
  });

  it('any text comes to an answer, and what was read is written as it was read', () => {
    const unit = fc.constantFrom('[', ']', '"', '\\', '=', '#', ';', '\n', '\r', '\t', ' ', 'a', '.', 'x', '\0');
    fc.assert(
      fc.property(fc.string({ unit }), (text) => {
        const entries = parseGitConfig(text) ?? [];
        expect(parseGitConfig(writeGitConfig(entries))).toEqual(entries);
      }),
    );
  });
});

describe('a key is harmless when it is known to be', () => {
  const place = { path: '/w/.git/config', roots: ['/w'], follow: createFollower(['/w']) };
  const judge = (text: string) => parseGitConfig(text)?.map((entry) => isHarmless(entry, place));

  it.each([
    '[user]name=a',
    '[remote "o"]url=https://host/x.git\nfetch=+refs/heads/*:refs/remotes/o/*',
    '[remote "o"]url=git@host:x.git',
    '[remote "o"]url=../hub.git',
    '[branch "main"]remote=origin\nmerge=refs/heads/main\nvscode-merge-base=origin/main',
    '[core]fsmonitor=true',
    '[submodule "a"]url=../a\nactive=true\nupdate=checkout',
    '[extensions]worktreeConfig=true',
    '[pull]twohead=ort',
    '[pull]octopus=octopus ours',
  ])('%s', (text) => {
    expect(judge(text)?.every(Boolean)).toBe(true);
  });

  it.each([
    '[core]hooksPath=x',
    '[core]fsmonitor=./x',
    '[core]sshCommand=x',
    '[core]pager=x',
    '[core]editor=x',
    '[core]askPass=x',
    '[core]worktree=/home/other',
    '[core]worktree=../../other',
    '[core]gitProxy=x',
    '[alias]st=!x',
    '[filter "x"]clean=x',
    '[filter "x"]process=x',
    '[diff]external=x',
    '[diff "x"]textconv=x',
    '[merge "x"]driver=x',
    '[credential]helper=x',
    '[credential "https://h"]helper=x',
    '[include]path=x',
    '[includeIf "gitdir:/"]path=x',
    '[url "ssh://evil/"]insteadOf=https://h/',
    '[remote "o"]url=ext::sh -c x',
    '[remote "o"]uploadpack=x',
    '[remote "o"]vcs=x',
    '[submodule "a"]update=!x',
    '[gpg]program=x',
    '[sequence]editor=x',
    '[gc]recentObjectsHook=x',
    '[http]proxy=x',
    '[pull]twohead=x',
    '[pull]octopus=octopus x',
    '[uploadpack]packObjectsHook=x',
    '[interactive]diffFilter=x',
    '[browser "x"]cmd=x',
    '[trailer "x"]command=x',
    '[anything]else=x',
  ])('not: %s', (text) => {
    expect(judge(text)).toEqual([false]);
  });
});
