// T-14: the agent writes a `.git` file that names another directory, so that the box shows it that one too.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';

let place: string;
let sandbox: Sandbox;

const git = (...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { stdio: 'pipe' });

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'palyra-worktree-'));
  await mkdir(join(place, 'home'));
  await mkdir(join(place, 'private'));
  await writeFile(join(place, 'private/secret'), 'the secret\n');
  git('init', '-q', join(place, 'main'));
  git('-C', join(place, 'main'), 'commit', '-q', '--allow-empty', '-m', 'one');
  git('-C', join(place, 'main'), 'worktree', 'add', '-q', join(place, 'tree'));
  sandbox = await createSandbox({
    operator: {
      path: '/usr/bin:/bin',
      home: join(place, 'home'),
      palyraHome: join(place, 'home/.palyra'),
      environment: {},
    },
    logger: { error: () => undefined },
  });
});

afterAll(async () => {
  await sandbox.close();
  await rm(place, { recursive: true });
});

async function run(root: string, ...argv: readonly string[]) {
  const result = await sandbox.run({ argv }, sandboxProfile(root));
  if (result.kind !== 'completed') throw new Error(JSON.stringify(result));
  return { exitCode: result.exitCode, stdout: Buffer.from(result.output.stdout).toString('utf8') };
}

test('git works in a worktree, for its repository is there', async () => {
  const tree = join(place, 'tree');
  expect(await run(tree, 'git', 'log', '--format=%s')).toEqual({ exitCode: 0, stdout: 'one\n' });
});

test.each([
  ['a directory that is no repository', () => join(place, 'private')],
  ['a repository that does not know this worktree', () => join(place, 'main/.git')],
  ['the administration of another worktree', () => join(place, 'main/.git/worktrees/tree')],
  ['a way there through dots', () => '../private'],
])('a .git file that names %s shows nothing of it', async (name, target) => {
  const forged = join(place, `forged-${name.length}`);
  await mkdir(forged);
  await writeFile(join(forged, '.git'), `gitdir: ${target()}\n`);
  const seen = await run(forged, 'sh', '-c', `ls ${place}; cat ${place}/private/secret ${place}/main/.git/HEAD; true`);
  expect(seen.stdout).toBe(`forged-${name.length}\n`);
});

test('a link in place of the repository is not followed to where it leads', async () => {
  const forged = join(place, 'linked');
  await mkdir(forged);
  execFileSync('ln', ['-s', join(place, 'private'), join(forged, '.git')]);
  const seen = await run(forged, 'sh', '-c', 'cat .git/secret; true');
  expect(seen.stdout).toBe('');
  expect(await readdir(join(place, 'private'))).toEqual(['secret']);
});
