// T-41: the caller names as its workspace what is no workspace: the whole machine, a home, our own state.
import { mkdir, symlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { createTemporaryHome } from '@palyra/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';

type TemporaryHome = Awaited<ReturnType<typeof createTemporaryHome>>;
let place: TemporaryHome;
let sandbox: Sandbox;

beforeAll(async () => {
  place = await createTemporaryHome();
  await mkdir(join(place.path, 'home/.palyra/policies'), { recursive: true });
  await mkdir(join(place.path, 'home/project'));
  await symlink('..', join(place.path, 'home/project/up'));
  sandbox = await createSandbox({
    operator: {
      path: '/usr/bin:/bin',
      home: join(place.path, 'home'),
      palyraHome: join(place.path, 'home/.palyra'),
      environment: {},
    },
    logger: { error: () => undefined },
  });
});

afterAll(async () => {
  await sandbox.close();
  await place[Symbol.asyncDispose]();
});

const WIDE: readonly [string, () => string][] = [
  ['the root', () => '/'],
  ['a directory of the system', () => '/etc'],
  ['all temporary files', () => '/tmp'],
  ['the real home', () => homedir()],
  ["the operator's home", () => join(place.path, 'home')],
  ['what holds that home', () => place.path],
  ['our state', () => join(place.path, 'home/.palyra')],
  ['a part of our state', () => join(place.path, 'home/.palyra/policies')],
  ['a link to that home', () => join(place.path, 'home/project/up')],
  ['credentials', () => join(place.path, 'home/.ssh')],
];

test.each(WIDE)('%s is refused in both tiers', async (_, root) => {
  for (const tier of ['B', 'C'] as const) {
    const result = await sandbox.run({ argv: ['true'] }, sandboxProfile(root(), { tier }));
    expect(result).toMatchObject({ kind: 'refused', code: 'sandbox.unsafe_workspace', fix: expect.any(String) });
  }
});

test('a project in that home is a workspace', async () => {
  expect(await sandbox.run({ argv: ['true'] }, sandboxProfile(join(place.path, 'home/project')))).toMatchObject({
    kind: 'completed',
    exitCode: 0,
  });
});
