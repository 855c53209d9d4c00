// T-19: the process that is about to become a tool is a copy of the launcher, and whoever has the tool's uid may look into it:
// what other calls were asked, told and said must not be in its memory.
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';
import { expect, test } from 'vitest';
import { decodeFacts } from '../../packages/sandbox/src/launcher/decode-reports.ts';
import { encodeRequest } from '../../packages/sandbox/src/launcher/encode-request.ts';
import type { Launcher } from '../../packages/sandbox/src/launcher/start-launcher.ts';
import { encodeFrame, FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import {
  barePlan,
  type LaunchedJob,
  launch,
  launcherProgram,
  openLauncher,
  shell,
} from '../integration/launched-job.ts';
import { startRawLauncher } from '../integration/raw-launcher.ts';
import { holdStager } from './held-stager.ts';
import { uniqueMark } from './sandboxed.ts';

/** Everything that the process has mapped and can be read. */
function memoryOf(pid: number): Buffer {
  const mem = openSync(`/proc/${pid}/mem`, 'r');
  try {
    const ranges = readFileSync(`/proc/${pid}/maps`, 'latin1').matchAll(/^([0-9a-f]+)-([0-9a-f]+) r(?!.*\[v)/gm);
    return Buffer.concat(
      [...ranges].map(([, from, to]) => {
        const bytes = Buffer.alloc(Number.parseInt(to ?? '', 16) - Number.parseInt(from ?? '', 16));
        readSync(mem, bytes, 0, bytes.length, Number.parseInt(from ?? '', 16));
        return bytes;
      }),
    );
  } finally {
    closeSync(mem);
  }
}

/** Which of these texts it holds. */
function foundIn(pid: number, marks: Readonly<Record<string, string>>) {
  const memory = memoryOf(pid);
  return Object.fromEntries(Object.entries(marks).map(([what, mark]) => [what, memory.includes(mark)]));
}

async function toolOf({ facts }: Pick<LaunchedJob, 'facts'>): Promise<number> {
  const { outside } = await facts;
  return outside[0]?.pid ?? 0;
}

/** One that runs and one that has ended, both of which were told and have said something. */
async function runOthers(launcher: Launcher, marks: Readonly<Record<'asked' | 'told' | 'said', string>>) {
  // Said in two halves, so that it is in no request; long, so that buffers grow on the way.
  const half = marks.said.length / 2;
  const saying = `printf %s%s '${marks.said.slice(0, half)}' '${marks.said.slice(half)}'`;
  // What was freed of a longer request is not covered by the next one.
  const others = [`exit; ${'.'.repeat(50_000)} ${marks.asked}`, 'sleep 60'].map((then) =>
    launch(launcher, shell(`: ${marks.asked}; cat; ${saying}; ${then}`), { stdin: true }),
  );
  for (const other of others) {
    await other.facts;
    other.write(Buffer.from(`${'.'.repeat(20_000)}${marks.told}`));
    other.endInput();
    await other.untilOutput(marks.said);
  }
  await others[0]?.ended;
}

test('neither of one that runs nor of one that has ended', async () => {
  await using launcher = await openLauncher();
  const marks = { asked: uniqueMark(), told: uniqueMark(), said: uniqueMark(), own: uniqueMark() };
  await runOthers(launcher, marks);

  const waiting = launch(launcher, shell(`: ${marks.own}`), { word: 'wait' });
  expect(foundIn(await toolOf(waiting), marks)).toEqual({ asked: false, told: false, said: false, own: true });
});

test('nor of one that was too large to be wiped', async () => {
  await using launcher = await openLauncher();
  const marks = { own: uniqueMark(), first: uniqueMark(), second: uniqueMark() };
  // The first teaches an allocator to keep such buffers; with input that waits behind it in the heap, it keeps the second.
  for (const mark of [marks.first, marks.second]) {
    const bytes = Buffer.alloc(5_000_000, mark);
    const other = launch(launcher, shell('sleep 60', { data: [{ fd: 10, bytes }] }), { stdin: true });
    other.write(Buffer.alloc(100_000));
    await other.facts;
  }

  const waiting = launch(launcher, shell(`: ${marks.own}`), { word: 'wait' });
  expect(foundIn(await toolOf(waiting), marks)).toEqual({ own: true, first: false, second: false });
});

test('nor of those that are told something in the moment in which it begins', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  const marks = { own: uniqueMark(), before: uniqueMark(), after: uniqueMark() };
  const factsOf = (id: number) => launcher.frame(({ job, kind }) => job === id && kind === FROM_LAUNCHER.facts);
  // It has not got its word, so what it is told stays with the launcher.
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(barePlan(['/bin/sleep', '60']), { stdin: true }));
  await factsOf(1);
  launcher.sendBytes(
    Buffer.concat([
      encodeFrame(TO_LAUNCHER.stdin, 1, Buffer.from(marks.before)),
      encodeFrame(TO_LAUNCHER.start, 2, encodeRequest(shell(`: ${marks.own}`), { stdin: false })),
      encodeFrame(TO_LAUNCHER.stdin, 1, Buffer.from(marks.after)),
    ]),
  );
  const { payload } = await factsOf(2);
  const pid = decodeFacts(payload).outside[0]?.pid ?? 0;
  expect(foundIn(pid, marks)).toEqual({ own: true, before: false, after: false });
});

test('nor in the process that puts the root of a sandbox together, which holds no file of theirs either', async () => {
  await using launcher = await openLauncher();
  const marks = { asked: uniqueMark(), told: uniqueMark(), said: uniqueMark(), own: uniqueMark() };
  await runOthers(launcher, marks);
  const { stager } = await holdStager(launcher, `: ${marks.own}`);
  expect(foundIn(stager, marks)).toEqual({ asked: false, told: false, said: false, own: true });
  // Its input, output and errors, the socket, the stage in memory, and the pipe for the options.
  const open = readdirSync(`/proc/${stager}/fd`).map((fd) => readlinkSync(`/proc/${stager}/fd/${fd}`).split(':')[0]);
  expect(open).toEqual(['/dev/null', 'pipe', 'pipe', 'socket', '/memfd', 'pipe']);
});
