import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Binding, createSandbox, type Refusal, type Sandbox } from '@palyra/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostStampFiles } from '../../packages/sandbox/src/pool/stamp-files.ts';
import { runJob } from '../../packages/sandbox/src/run-job.ts';
import { type ProfileChanges, sandboxProfile } from '../sandbox-profile.ts';
import { barePlan, openLauncher } from './launched-job.ts';

let place: string;
let sandbox: Sandbox;

const at = (name: string) => join(place, name);

function put(name: string, text: string): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), text);
  chmodSync(at(name), 0o755);
  return at(name);
}

beforeAll(async () => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-bind-')));
  // As root the tool is somebody else, who must get there.
  chmodSync(place, 0o755);
  put('home/.cargo/bin/mytool', '#!/bin/sh\necho tool runs\n');
  put('work/lib/words.js', 'module.exports = "a neighbour";\n');
  put('work/tools/say.js', 'console.log(require("../lib/words.js"), process.argv[2]);\n');
  put('work/words.py', 'WORDS = "a neighbour"\n');
  put('work/say.py', 'import sys, words\nprint(words.WORDS, sys.argv[1])\n');
  put('work/lib/words.sh', 'words="a neighbour"\n');
  put('work/say.sh', '#!/bin/sh -e\n. "$(dirname "$0")/lib/words.sh"\necho "$words $1"; pwd\n');
  sandbox = await createSandbox({
    operator: {
      path: `${at('home/.cargo/bin')}:/usr/local/bin:/usr/bin:/bin`,
      home: at('home'),
      palyraHome: at('home/.palyra'),
      environment: {},
    },
    logger: { error: () => undefined },
  });
});

afterAll(async () => {
  await sandbox.close();
  rmSync(place, { recursive: true });
});

async function runBound(argv: readonly string[], changes: ProfileChanges = {}) {
  const profile = sandboxProfile(at('work'), { toolchains: 'operator', ...changes });
  const bound = await sandbox.bind({ argv }, profile);
  if (bound.kind === 'refused') throw new Error(JSON.stringify(bound));
  const result = await sandbox.run({ argv }, profile, { bound });
  if (!('output' in result)) throw new Error(JSON.stringify(result));
  expect(result.bound).toEqual(bound);
  const [stdout, stderr] = [result.output.stdout, result.output.stderr].map((bytes) => Buffer.from(bytes).toString());
  return { bound, stdout, stderr };
}

const files = ({ files: list }: Binding) => list.map(({ path, role, how }) => [path.replace(place, ''), role, how]);

test("a program of the system's runs where it is, and is all that is bound", async () => {
  const { bound, stdout } = await runBound(['git', '--version']);
  expect(stdout).toMatch(/^git version /);
  expect(bound).toMatchObject({ files: [{ path: '/usr/bin/git', role: 'program', how: 'in_place' }] });
  expect(bound.unbound.map(({ what }) => what)).toEqual(['libraries', 'children', 'settings']);
});

test.each([
  [['node', 'tools/say.js', 'x'], '/work/tools/say.js', /^a neighbour x\n$/],
  [['python3', '-u', 'say.py', 'x'], '/work/say.py', /^a neighbour x\n$/],
  [['sh', 'say.sh', 'x'], '/work/say.sh', /^a neighbour x\n.*\/work\n$/],
])('%j runs a copy of its script, finds what lies beside it, and works where it did', async (argv, path, says) => {
  const { bound, stdout } = await runBound(argv);
  expect(stdout).toMatch(says);
  expect(files(bound)).toContainEqual([path, 'script', 'copied']);
});

test('a script with a first line is started as the kernel would, from its copy', async () => {
  const { bound, stdout } = await runBound(['./say.sh', 'x']);
  expect(stdout).toMatch(/^a neighbour x\n/);
  expect(files(bound)).toEqual([
    ['/work/say.sh', 'program', 'copied'],
    [expect.stringMatching(/^\/usr\/bin\//), 'interpreter', 'in_place'],
  ]);
});

test('a tool of the operator’s own is copied unless root alone can write it', async () => {
  const { bound, stdout } = await runBound(['mytool']);
  expect(stdout).toBe('tool runs\n');
  expect(files(bound)[0]).toEqual([
    '/home/.cargo/bin/mytool',
    'program',
    process.getuid?.() === 0 ? 'in_place' : 'copied',
  ]);
});

test('a large program of the workspace runs from its copy, and one that is too large is refused', async () => {
  copyFileSync('/bin/echo', at('work/large'));
  writeFileSync(at('work/large'), Buffer.alloc(20 * 1024 * 1024), { flag: 'a' });
  const { bound, stdout } = await runBound(['./large', 'large']);
  expect(stdout).toBe('large\n');
  expect(bound.files[0]).toMatchObject({ how: 'copied' });
  writeFileSync(at('work/large'), Buffer.alloc(110 * 1024 * 1024), { flag: 'a' });
  const answer = await sandbox.bind({ argv: ['./large'] }, sandboxProfile(at('work')));
  expect(answer).toMatchObject({
    kind: 'refused',
    code: 'sandbox.not_bindable',
    message: expect.stringContaining('too large'),
  });
  rmSync(at('work/large'));
});

test('a binding of one command is none of another', async () => {
  const profile = sandboxProfile(at('work'));
  const bound = await sandbox.bind({ argv: ['python3', 'say.py'] }, profile);
  if (bound.kind === 'refused') throw new Error(bound.message);
  expect(await sandbox.run({ argv: ['python3', 'words.py'] }, profile, { bound })).toMatchObject({
    kind: 'refused',
    code: 'sandbox.changed_since_approved',
  });
});

test('what has changed when the word is to be given does not run', async () => {
  await using launcher = await openLauncher();
  const refusal: Refusal = {
    kind: 'refused',
    code: 'sandbox.changed_since_approved',
    message: 'Changed.',
    fix: undefined,
  };
  const known = { cgroupDriver: 'none' as const, readText: () => undefined, stampFiles: hostStampFiles };
  const context = { launcher, now: Date.now, ...known };
  const told: string[] = [];
  const options = { onStart: () => void told.push('started'), onOutput: () => void told.push('said') };
  const plan = barePlan(['/bin/echo', 'ran']);
  expect(await runJob(plan, options, { ...context, recheck: () => refusal })).toEqual(refusal);
  expect(told).toEqual([]);
});
