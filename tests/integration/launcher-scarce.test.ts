import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { encodeFrame, FROM_LAUNCHER, MAX_CHUNK, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, inBubblewrap, isRoot, launcherProgram, stageProgram, until } from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

/** Nobody's, and of this file alone, for processes are counted by user: the launcher, and two for each of twenty jobs. */
const FEW_PROCESSES = ['setpriv', '--reuid=879917', '--regid=879917', '--clear-groups', 'prlimit', '--nproc=41:41'];
const FEW_DESCRIPTORS = ['prlimit', '--nofile=256:256'];

const sleep = ['/bin/sh', '-c', 'echo here; exec sleep 1000'] as const;
const ofItsOwnUser = encodeRequest({ ...barePlan(sleep), identity: undefined }, { stdin: true });
/** Of which there are not descriptors for as many as there are places. */
const box = encodeRequest(barePlan(sleep, inBubblewrap('--unshare-user --unshare-pid --unshare-net')), { stdin: true });

/** Whether a job begins that was asked for; one that runs has fewer descriptors than one that begins. */
async function begins(launcher: RawLauncher, job: number): Promise<boolean> {
  const { kind } = await launcher.frame((frame) => frame.job === job);
  if (kind !== FROM_LAUNCHER.facts) return false;
  launcher.send(TO_LAUNCHER.go, job);
  launcher.send(TO_LAUNCHER.credit, job, Buffer.from([9, 0, 0, 0]));
  await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.stdout);
  return true;
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

const isDead = (pid: number) => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

/** As many end as are next; those are heard of in the turn after the one in which that was told: more is said than is heard in one. */
async function replace(launcher: RawLauncher, next: readonly Buffer[]): Promise<void> {
  const keepers = childrenOf(launcher.pid).slice(0, next.length);
  process.kill(launcher.pid, 'SIGSTOP');
  for (const child of keepers.flatMap(childrenOf)) process.kill(child, 'SIGKILL');
  await until(() => keepers.every(isDead));
  const toNobody = encodeFrame(TO_LAUNCHER.credit, 2 ** 31, Buffer.alloc(4));
  const turn = Array.from({ length: Math.ceil(MAX_CHUNK / toNobody.length) }, () => toNobody);
  launcher.sendBytes(Buffer.concat([...turn, ...next]));
  process.kill(launcher.pid, 'SIGCONT');
}

for (const [what, limits, payload] of [
  ['processes', FEW_PROCESSES, ofItsOwnUser],
  ['descriptors', FEW_DESCRIPTORS, box],
] as const) {
  test.skipIf(!isRoot)(
    `where there are no more ${what}, the next job has those of one whose end was told [needs: root]`,
    async () => {
      const directory = await mkdtemp(join(tmpdir(), 'palyra-launcher-'));
      await chmod(directory, 0o755);
      const program = join(directory, 'palyra-launcher');
      await copyFile(launcherProgram(), program);
      await copyFile(stageProgram(), join(directory, 'palyra-stage'));
      await using launcher = await startRawLauncher(['/usr/bin/env', ...limits, program]);
      await rm(directory, { recursive: true });
      const start = (job: number) => encodeFrame(TO_LAUNCHER.start, job, payload);
      let job = 1;
      for (launcher.sendBytes(start(job)); await begins(launcher, job); launcher.sendBytes(start(job))) job += 1;
      expect(job).toBeGreaterThan(10);
      for (let round = 0; round < 5; round += 1) {
        const next = Array.from({ length: 8 }, (_, at) => job + at + 1);
        job += next.length;
        await replace(launcher, next.map(start));
        for (const each of next) expect(await begins(launcher, each)).toBe(true);
      }
    },
  );
}
