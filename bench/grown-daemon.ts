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

/** Of this thread, by the kernel: time on a processor, time waiting for one (both in nanoseconds), number of times it was given one. */
const schedule = openSync('/proc/thread-self/schedstat', 'r');
const text = Buffer.alloc(80);
/** Of this thread: how often it gave its processor up by itself, because it waited for something. */
const status = openSync('/proc/thread-self/status', 'r');
const statusText = Buffer.alloc(4096);
const GAVE_UP = Buffer.from('\nvoluntary_ctxt_switches:\t');
const SPACE = 0x20;
const DIGIT = 0x30;

/** Written by `look`; numbers in places of their own, so that a turn of the loop makes no garbage. */
const seen = { at: 0, ran: 0, waited: 0, slices: 0 };

/** By hand, like the loop below: texts and objects in every turn would make the garbage that is collected. */
function look(): void {
  seen.at = performance.now();
  // Only this has the kernel add up what the thread has run until now, and not until the last tick of its clock.
  process.cpuUsage();
  const length = readSync(schedule, text, 0, text.length, 0);
  let at = 0;
  const next = () => {
    let value = 0;
    for (; at < length && (text[at] ?? 0) >= DIGIT; at += 1) value = value * 10 + ((text[at] ?? DIGIT) - DIGIT);
    if (text[at] === SPACE) at += 1;
    return value;
  };
  seen.ran = next() / 1_000_000;
  seen.waited = next() / 1_000_000;
  seen.slices = next();
}

function timesGivenUp(): number {
  const length = readSync(status, statusText, 0, statusText.length, 0);
  let at = statusText.indexOf(GAVE_UP) + GAVE_UP.length;
  let value = 0;
  for (; at < length && (statusText[at] ?? 0) >= DIGIT; at += 1)
    value = value * 10 + ((statusText[at] ?? DIGIT) - DIGIT);
  return value;
}

/**
 * Some hundredths of a millisecond in every turn, which are in every figure. A loop that turns as fast as it can makes
 * 100 MB of garbage a second, and what is measured is how that is collected.
 */
const PAUSE = 8_000;
let pauses = 0;

function pause(): void {
  let sum = pauses;
  for (let step = 0; step < PAUSE; step += 1) sum = (sum + step) | 0;
  pauses = sum;
}

/**
 * The longest turn of a loop that turns all the time, without what another had: what it waited for a processor that the
 * command or another process was given, and what the host of this virtual machine gave to others. A loop that was not run
 * was not blocked. A system call that does not come back is not left out: for it, the loop gives up its processor by itself.
 */
async function longestBlock(start: () => Promise<void>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let givenUp = timesGivenUp();
  look();
  /** Asked only when it was on a processor more than once, for it costs as much as many a turn. */
  const waitedForSomething = () => {
    const before = givenUp;
    givenUp = timesGivenUp();
    return givenUp !== before;
  };
  const turn = () => {
    const { at, ran, waited, slices } = seen;
    pause();
    look();
    const isWhole = seen.slices !== slices && waitedForSomething();
    const block = isWhole ? seen.at - at - (seen.waited - waited) : Math.min(seen.ran - ran, seen.at - at);
    longest = Math.max(longest, block);
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await start();
  isOver = true;
  await new Promise((resolve) => setImmediate(resolve));
  return longest;
}
