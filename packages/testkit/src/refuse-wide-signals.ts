/**
 * Loaded before each file of tests: number 0 means our own group, and 1 and -1 everybody. A test that looks up whose number it
 * is about to signal, and finds nobody, would end the whole run with all that called it, and leave no word about why.
 */
const signal = process.kill.bind(process);

process.kill = (pid, name) => {
  if (!Number.isSafeInteger(pid) || (pid > -2 && pid < 2)) {
    throw new RangeError(`No single process has the number ${pid}; ${String(name ?? 'SIGTERM')} is not sent.`);
  }
  return signal(pid, name);
};
