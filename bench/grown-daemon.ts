import { spawn } from 'node:child_process';
import { openSync, readSync } from 'node:fs';
import { createSandbox } from '@palyra/sandbox';
import type { Started } from './daemon-process.ts';
import { COMMAND, OPERATOR, profileOf, quiet, succeeded } from './sandbox-place.ts';
import { untilClosed } from './until-closed.ts';

/** Run by `daemon-process.ts`: told what to start, it answers for how long its event loop stood still. */
const MEBIBYTE = 1024 * 1024;
const GROWN = 500 * MEBIBYTE;

const [workspace = ''] = process.argv.slice(2);
const sandbox = await createSandbox({ operator: OPERATOR, logger: quiet, pool: 'off' });
const profile = profileOf('C', workspace);
const held: Buffer[] = [];
// Filled, or the kernel has not given it to us yet.
while (process.memoryUsage.rss() < GROWN) held.push(Buffer.alloc(8 * MEBIBYTE, held.length + 1));

const START: Record<Started, () => Promise<void>> = {
  'tier-c': async () => succeeded(await sandbox.run({ argv: [COMMAND] }, profile)),
  spawn: () => untilClosed(spawn(COMMAND, [], { cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] })),
  // About as long as the sandbox takes, or the machine would have less time to get in the way.
  nothing: () => new Promise((resolve) => setTimeout(resolve, 20)),
};

process.on('message', (what: Started) => {
  void longestBlock(START[what]).then((ms) => process.send?.(ms));
});
process.once('disconnect', () => void sandbox.close());
process.send?.('ready');

/** Of this thread, by the kernel: time on a processor, time waiting for one (both in nanoseconds), number of turns. */
const schedule = openSync('/proc/thread-self/schedstat', 'r');
const text = Buffer.alloc(80);
const SPACE = 0x20;
const DIGIT = 0x30;

/** In milliseconds. By hand, like the loop below: texts and objects in every turn would make the garbage that is collected. */
function waitedForProcessor(): number {
  const length = readSync(schedule, text, 0, text.length, 0);
  let at = text.indexOf(SPACE) + 1;
  let waited = 0;
  for (; at < length && text[at] !== SPACE; at += 1) waited = waited * 10 + ((text[at] ?? DIGIT) - DIGIT);
  return waited / 1_000_000;
}

/**
 * The longest turn of a loop that turns all the time, without what it waited for a processor that the command or another
 * process had: a loop that was not run was not blocked. A system call that does not come back is not left out.
 */
async function longestBlock(start: () => Promise<void>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let at = performance.now();
  let waited = waitedForProcessor();
  const turn = () => {
    const before = at - waited;
    at = performance.now();
    waited = waitedForProcessor();
    longest = Math.max(longest, at - waited - before);
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await start();
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}
