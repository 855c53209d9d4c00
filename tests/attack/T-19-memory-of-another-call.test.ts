// T-19: the process that is about to become a tool is a copy of the launcher, and whoever has the tool's uid may look into it:
// what other calls were asked, told and said must not be in its memory.
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { expect, test } from 'vitest';
import { launch, openLauncher, shell } from '../integration/launched-job.ts';
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
  const { outside } = await waiting.facts;
  const memory = memoryOf(outside[0]?.pid ?? 0);
  const found = Object.fromEntries(Object.entries(marks).map(([what, mark]) => [what, memory.includes(mark)]));
  expect(found).toEqual({ asked: false, told: false, said: false, own: true });
});
