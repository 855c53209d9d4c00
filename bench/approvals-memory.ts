import { openWithPending, waitForMany } from './waiting-approvals.ts';

/** A process of its own, started with --expose-gc: says how many KiB each of so many waiters takes. */
const [path = '', count = '1'] = process.argv.slice(2);
const home = await openWithPending(path, 100);
const before = await settledBytes();
await waitForMany(home, Number(count));
const kib = ((await settledBytes()) - before) / Number(count) / 1024;
process.send?.(kib);
await home[Symbol.asyncDispose]();
process.disconnect();

async function settledBytes(): Promise<number> {
  for (let turn = 0; turn < 5; turn += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
