/**
 * T-16: to make a network takes a lock of the whole machine, which a tool keeps busy by asking for its own interfaces: hundreds of
 * its processes had others wait for seconds. A launcher that waits there itself ends nobody meanwhile. Here that lock is never had.
 */
import { afterEach, expect, test } from 'vitest';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { inBubblewrap, launcherProgram, shell } from '../integration/launched-job.ts';
import { type RawLauncher, startRawLauncher } from '../integration/raw-launcher.ts';
import { neverAnswered } from './never-answered.ts';
import { childrenOf, IS_ROOT, textOf, until } from './sandboxed.ts';

/** As long as nobody would wait. */
const HELD_S = 50;

/** Of a network alone, as the launcher does and bubblewrap does not. */
const UNSHARE = { x64: 272, arm64: 97, argument: 0x40000000 };

let launcher: RawLauncher | undefined;
afterEach(async () => {
  await launcher?.close();
});

async function endOf(from: RawLauncher, job: number): Promise<number> {
  const { kind } = await from.frame((frame) => frame.job === job && frame.kind !== FROM_LAUNCHER.facts);
  return kind;
}

test.skipIf(!IS_ROOT)('jobs begin and end while the next network is not there [needs: root]', async () => {
  launcher = await startRawLauncher([...neverAnswered(UNSHARE, HELD_S), launcherProgram()]);
  const began = Date.now();
  const { pid } = launcher;
  const box = encodeRequest(shell('exit 7', inBubblewrap('--unshare-user --unshare-pid --unshare-net')), {
    stdin: false,
  });
  for (const job of [1, 2]) {
    launcher.send(TO_LAUNCHER.start, job, box);
    await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
    launcher.send(TO_LAUNCHER.go, job);
    expect(await endOf(launcher, job)).toBe(FROM_LAUNCHER.ended);
  }
  // Whoever makes one, which is no job's and is spared, waits for the answer.
  await until('all else was put away', () => childrenOf(pid).length === 1);
  const [maker = 0] = childrenOf(pid);
  expect(textOf(`/proc/${maker}/wchan`)).toMatch(/seccomp|^0?$/);

  launcher.send(TO_LAUNCHER.start, 3, encodeRequest(shell('exec sleep 1000'), { stdin: false }));
  await launcher.frame(({ job, kind }) => job === 3 && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, 3);
  launcher.send(TO_LAUNCHER.kill, 3);
  expect(await endOf(launcher, 3)).toBe(FROM_LAUNCHER.ended);

  expect(Date.now() - began).toBeLessThan((HELD_S * 1000) / 2);
  expect(await launcher.close()).toEqual({ code: 0, signal: null });
  await until('nobody is left', () => textOf(`/proc/${maker}/stat`) === '');
});
