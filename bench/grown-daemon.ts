import { spawn } from 'node:child_process';
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

/** Calls `onTurn` in each turn of the loop in which something is done. */
const START: Record<Started, (onTurn: () => void) => Promise<void>> = {
  'tier-c': async (onTurn) => succeeded(await sandbox.run({ argv: [COMMAND] }, profile, { onStart: onTurn })),
  spawn: (onTurn) => {
    const child = spawn(COMMAND, [], { cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] });
    child.once('exit', onTurn);
    return untilClosed(child);
  },
  nothing: () => new Promise((resolve) => setTimeout(resolve, 5)),
};

process.on('message', (what: Started) => {
  void longestBlock(START[what]).then((ms) => process.send?.(ms));
});
process.once('disconnect', () => void sandbox.close());
process.send?.('ready');

/**
 * The longest of: the call with the turn that it is made in, each turn that it names, the turn of its end. By what the
 * loop did between them, without its sleep: one that turned all the time to see gaps would fight with the command for a
 * processor, and would see that.
 */
async function longestBlock(start: (onTurn: () => void) => Promise<void>): Promise<number> {
  let longest = 0;
  let before = performance.eventLoopUtilization();
  // Immediates come after everything else of a turn.
  const afterTurn = () =>
    new Promise<void>((resolve) => {
      setImmediate(() => {
        longest = Math.max(longest, performance.eventLoopUtilization(before).active);
        before = performance.eventLoopUtilization();
        resolve();
      });
    });
  const ended = start(() => void afterTurn());
  await Promise.all([afterTurn(), ended]);
  await afterTurn();
  return longest;
}
