// T-19: the process that is about to become a tool is a copy of the launcher, and whoever has the tool's uid may look into it:
// what other calls were asked, told and said must not be in its memory.
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type LaunchedJob, launch, openLauncher, shell } from '../integration/launched-job.ts';
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
async function foundIn({ facts }: LaunchedJob, marks: Readonly<Record<string, string>>) {
  const { outside } = await facts;
  const memory = memoryOf(outside[0]?.pid ?? 0);
  return Object.fromEntries(Object.entries(marks).map(([what, mark]) => [what, memory.includes(mark)]));
}

test('neither of one that runs nor of one that has ended', async () => {
  await using launcher = await openLauncher();
  const marks = { asked: uniqueMark(), told: uniqueMark(), said: uniqueMark(), own: uniqueMark() };
  // Said in two halves, so that it is in no request; long, so that buffers grow on the way.
  const half = marks.said.length / 2;
  const saying = `printf %s%s '${marks.said.slice(0, half)}' '${marks.said.slice(half)}'`;
  const others = ['exit', 'sleep 60'].map((then) =>
    launch(launcher, shell(`: ${marks.asked}; cat; ${saying}; ${then}`), { stdin: true }),
  );
  for (const other of others) {
    await other.facts;
    other.write(Buffer.from(`${'.'.repeat(20_000)}${marks.told}`));
    other.endInput();
    await other.untilOutput(marks.said);
  }
  await others[0]?.ended;

  const waiting = launch(launcher, shell(`: ${marks.own}`), { word: 'wait' });
  expect(await foundIn(waiting, marks)).toEqual({ asked: false, told: false, said: false, own: true });
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
  expect(await foundIn(waiting, marks)).toEqual({ own: true, first: false, second: false });
});
