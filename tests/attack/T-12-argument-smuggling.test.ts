// T-12: an argument of a harmless program reads or writes outside the workspace, or starts another program (Tier B).
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkCommand } from '../../packages/sandbox/src/guard/check-command.ts';
import { createProgramFiles } from '../../packages/sandbox/src/guard/program-files.ts';
import { sandboxProfile } from '../sandbox-profile.ts';

const files = createProgramFiles(['/usr/local/bin', '/usr/bin', '/bin']);
let base: string;
let workspace: string;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'palyra-t12-')));
  workspace = join(base, 'ws');
  await mkdir(join(workspace, 'src'), { recursive: true });
  await writeFile(join(base, 'secret'), 'secret');
  await writeFile(join(workspace, 'file'), 'file');
  await writeFile(join(workspace, 'src/a.ts'), 'a');
  await symlink('../secret', join(workspace, 'leak'));
  await symlink('..', join(workspace, 'up'));
  await symlink(join(base, 'not-yet'), join(workspace, 'dangling'));
  await symlink('round', join(workspace, 'round'));
  await symlink('src', join(workspace, 'inner'));
  await symlink('/proc/self/root', join(workspace, 'root'));
});
afterAll(() => rm(base, { recursive: true }));

/** `dd` stands for any program of which no profile is known: its arguments are never taken for anything but guesses. */
function check(argv: readonly string[]): string {
  const [name = ''] = argv;
  const answer = checkCommand({
    command: { argv },
    profile: sandboxProfile(workspace, { tier: 'B', interpreters: 'refused' }),
    programPath: `/usr/bin/${name}`,
    files,
  });
  return answer.kind === 'ok' ? 'ok' : answer.code;
}

test.each([
  ['dd', 'if=/etc/shadow'],
  ['dd', '-d', '@/etc/passwd'],
  ['dd', '-vC/etc'],
  ['dd', '--a=b=/abs'],
  ['dd', 'file:///etc/passwd'],
  ['dd', 'file:%2Fetc%2Fpasswd'],
  ['dd', '/proc/self/root/etc/passwd'],
  ['dd', '/proc/self/fd/3'],
  ['dd', '/dev/fd/3'],
  ['dd', '~/.ssh/id_ed25519'],
  ['tar', '-vC/etc', '-cf', 'a.tar', '.'],
  ['tar', '-cf', 'a.tar', '-C', 'up', '.'],
  ['cat', 'leak'],
  ['cat', 'up/secret'],
  ['cat', 'inner/../../secret'],
  ['cat', 'root/etc/passwd'],
  ['cat', 'round'],
  ['cp', 'file', 'dangling'],
  ['grep', '-rnf/etc/passwd', 'file'],
  ['sort', '--output=/etc/x', 'file'],
  ['git', 'diff', '--no-index', '/etc/passwd', 'file'],
  ['git', '-C/etc', 'status'],
  ['ls', '--unheard-of', 'file'],
])('%s %s %s is refused for its argument', (...argv) => {
  expect(check(argv.filter((part) => part !== undefined))).toBe('sandbox.argument_refused');
});

test.each([
  ['env', 'sh', '-c', 'id'],
  ['find', '.', '-exec', 'id', ';'],
  ['find', '.', '-okdir', 'id', ';'],
  ['xargs', 'id'],
  ['git', '-c', 'core.pager=id', 'log'],
  ['git', '-ccore.pager=id', 'log'],
  ['git', 'log', '--ext-d'],
  ['git', 'an-alias'],
  ['git', '--git-dir=evil', 'status'],
  ['tar', '-T', 'file', '-cf', 'a'],
  ['tar', '--checkpoint-action=exec=id', '-cf', 'a', '.'],
  ['tar', '--to-c=id', '-xf', 'a'],
  ['tar', 'xIf', 'id', 'a'],
  ['sort', '--compress-prog=id', 'file'],
  ['sed', '-n', 's/a/id/e', 'file'],
])('%s %s %s is refused as a program that starts another', (...argv) => {
  expect(check(argv.filter((part) => part !== undefined))).toBe('sandbox.interpreter_refused');
});

test('every spelling of every path to the outside is refused', () => {
  const outside = fc.constantFrom(
    '/etc/passwd',
    '../secret',
    'leak',
    'up/secret',
    'src/../../secret',
    'dangling',
    '~/x',
  );
  const before = fc.constantFrom(
    '',
    '--x=',
    '--x=y=',
    '-C',
    '-vC',
    '@',
    '-d@',
    'if=',
    'a=@',
    'src:',
    '-o ',
    'a=@file,',
    '--x=-I',
  );
  fc.assert(
    fc.property(before, outside, (prefix, path) => {
      expect(check(['dd', `${prefix}${path}`])).toBe('sandbox.argument_refused');
    }),
    { numRuns: 300 },
  );
});

test.each([
  [['git', 'status']],
  [['git', 'diff', 'HEAD~1', '--', 'src/a.ts']],
  [['ls', '-la', 'src']],
  [['grep', '-rn', 'foo', '.']],
  [['grep', '-n', '/etc/passwd', 'file']],
  [['sed', '-n', '1,5p', 'file']],
  [['cat', 'inner/a.ts', 'src/../file']],
  [['cp', 'file', 'src/new']],
  [['dd', 'if=file', 'of=/dev/null']],
  [['find', '.', '-name', '*.ts']],
  [['tar', '-xzf', 'a.tgz', '-C', 'src']],
])('%j passes', (argv) => {
  expect(check(argv)).toBe('ok');
});
