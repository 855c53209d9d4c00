/**
 * T-20: what becomes the tool says what is true of its sandbox, and with another program in its place anything could be said. So
 * the launcher takes the one beside it only if nobody may write that one who may not write the launcher, and executes a copy of it
 * that nobody can write.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  inBubblewrap,
  launch,
  launcherProgram,
  openLauncher,
  shell,
  stageProgram,
} from '../integration/launched-job.ts';
import { IS_ROOT } from './sandboxed.ts';

const STAGE = stageProgram();
const NOBODY = 879_900;

/** How a copy of the stage in memory is called, from outside. */
const IN_MEMORY = '/memfd:palyra-stage (deleted)';

type Planting = readonly [what: string, plant: (stage: string, elsewhere: string) => void];

const copied = (to: string): string => {
  copyFileSync(STAGE, to);
  chmodSync(to, 0o755);
  return to;
};

const PLANTED: readonly Planting[] = [
  ['is writable by everybody', (stage) => chmodSync(copied(stage), 0o757)],
  ['is writable by a group', (stage) => chmodSync(copied(stage), 0o775)],
  ['has a set-id bit', (stage) => chmodSync(copied(stage), 0o4755)],
  ['is a link to elsewhere', (stage, elsewhere) => symlinkSync(copied(elsewhere), stage)],
  ['is a directory', (stage) => mkdirSync(stage, 0o755)],
  ['is a pipe', (stage) => void execFileSync('mkfifo', ['-m', '755', stage])],
  ['is not there', () => {}],
  ['is empty', (stage) => truncateSync(copied(stage), 0)],
  ['is half a file', (stage) => truncateSync(copied(stage), 9_000)],
  ['is another program', (stage) => writeFileSync(copied(stage), readFileSync('/bin/true'))],
  ['is a script', (stage) => writeFileSync(copied(stage), '#!/bin/sh\nexit 5\n')],
];

const OF_OTHERS: readonly Planting[] = [
  ['belongs to somebody else', (stage) => chownSync(copied(stage), NOBODY, 0)],
  ['belongs to another group', (stage) => chownSync(copied(stage), 0, NOBODY)],
];

/** The program that a sandbox is before its word, and what its tool said in the end; `meanwhile`, when the launcher has begun. */
async function programIn(
  launcherFile: string,
  meanwhile = () => {},
): Promise<readonly [program: string, output: string]> {
  await using launcher = await openLauncher(launcherFile);
  meanwhile();
  const job = launch(launcher, shell('echo ran', inBubblewrap('--unshare-user --unshare-pid')), { word: 'wait' });
  const ended = job.ended.then((end) => Promise.reject(new Error(`It ended without facts: ${JSON.stringify(end)}`)));
  const { outside } = await Promise.race([job.facts, ended]);
  ended.catch(() => undefined);
  const programs = outside.map(({ pid }) => readlinkSync(`/proc/${pid}/exe`)).filter((path) => !path.endsWith('bwrap'));
  job.go();
  await job.ended;
  return [programs.join(' '), job.output().toString()];
}

function makePlace(): Disposable & { readonly launcher: string; readonly stage: string; readonly elsewhere: string } {
  const path = mkdtempSync(join(tmpdir(), 'palyra-stage-'));
  const launcher = join(path, 'palyra-launcher');
  chmodSync(path, 0o755);
  copyFileSync(launcherProgram(), launcher);
  chmodSync(launcher, 0o755);
  const [stage, elsewhere] = [join(path, 'palyra-stage'), join(path, 'elsewhere')];
  return { launcher, stage, elsewhere, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

test('the stage that was built with the launcher is used', async () => {
  using place = makePlace();
  copied(place.stage);
  expect(await programIn(place.launcher)).toEqual([IN_MEMORY, 'ran\n']);
});

test('one that is overwritten while the launcher runs is not executed: what was there before is', async () => {
  using place = makePlace();
  copied(place.stage);
  const overwrite = () => writeFileSync(place.stage, '#!/bin/sh\necho another ran\n');
  expect(await programIn(place.launcher, overwrite)).toEqual([IN_MEMORY, 'ran\n']);
});

test('one that everybody may write is not, although they may write the launcher too', async () => {
  using place = makePlace();
  for (const file of [copied(place.stage), place.launcher]) chmodSync(file, 0o777);
  expect(await programIn(place.launcher)).toEqual([place.launcher, 'ran\n']);
});

test.each(PLANTED)('a stage that %s is not: the launcher does it itself', async (_, plant) => {
  using place = makePlace();
  plant(place.stage, place.elsewhere);
  expect(await programIn(place.launcher)).toEqual([place.launcher, 'ran\n']);
});

test.skipIf(!IS_ROOT).each(OF_OTHERS)('nor is one that %s [needs: root]', async (_, plant) => {
  using place = makePlace();
  plant(place.stage, place.elsewhere);
  expect(await programIn(place.launcher)).toEqual([place.launcher, 'ran\n']);
});
