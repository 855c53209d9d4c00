import { isMainThread, Worker } from 'node:worker_threads';
import { GUEST_STACK_MIB } from './guest-stack.ts';
import { openPipe } from './pipe.ts';
import { serveCalls } from './serve-calls.ts';

const HEAP_MIB = 256;

/**
 * A WASM host: the whole program of a process inside Tier C. Guests run on a thread, because only a thread can be given the
 * stack that the meter counts on; this one waits, and ends with it.
 */
if (isMainThread) {
  const resourceLimits = { stackSizeMb: GUEST_STACK_MIB, maxOldGenerationSizeMb: HEAP_MIB };
  const thread = new Worker(new URL(import.meta.url), { resourceLimits, stdin: false });
  thread.once('error', (error) => {
    process.stderr.write(`${error instanceof Error ? error.message : 'The guest thread failed.'}\n`);
    process.exit(1);
  });
  thread.once('exit', (code) => process.exit(code));
} else {
  serveCalls(openPipe());
}
