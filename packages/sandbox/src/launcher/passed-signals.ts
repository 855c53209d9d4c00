/**
 * Signals that are passed on to a tool, by the numbers that Linux has for them on every machine we run on; the list in
 * `native/request.c` is the same. Ending a tool that does not listen is not one of them: that is what cancelling is.
 */
export const PASSED_SIGNALS = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGTERM: 15,
  SIGCONT: 18,
  SIGTSTP: 20,
} as const;

export type PassedSignal = keyof typeof PASSED_SIGNALS;

/** For names that come from elsewhere. */
export function isPassedSignal(name: string): name is PassedSignal {
  return Object.hasOwn(PASSED_SIGNALS, name);
}

export function encodeSignal(name: PassedSignal): Buffer {
  return Buffer.of(PASSED_SIGNALS[name]);
}
