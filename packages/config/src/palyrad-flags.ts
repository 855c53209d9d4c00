/**
 * What Node is told before the program whenever palyrad is started, on demand or as a service.
 *
 * SECURITY: T-40 — without the first, SIGUSR1 from any process of the same user opens a debugger in palyrad, with all of its
 * keys, to whoever connects to the loopback.
 *
 * The others keep the loop moving while commands run. Young objects are collected in the loop's own thread: it would wait
 * for helping threads, and those for the processors that the commands have. And often, so that each time is short.
 */
export const PALYRAD_FLAGS: readonly string[] = [
  '--disable-sigusr1',
  '--no-parallel-scavenge',
  '--max-semi-space-size=4',
];
