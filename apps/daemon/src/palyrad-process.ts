import { homedir } from 'node:os';
import { runPalyrad } from './run-palyrad.ts';
import { readVersion } from './version.ts';

const interruption = new AbortController();

for (const name of ['SIGTERM', 'SIGINT'] as const) {
  process.on(name, () => {
    // Whoever asks twice wants it gone; the launcher ends what runs when we are.
    if (interruption.signal.aborted) process.exit(1);
    interruption.abort();
  });
}
// SECURITY: T-40 — whoever starts it by hand says no `--disable-sigusr1`, and Node would open a debugger to the keys.
process.on('SIGUSR1', () => undefined);
// Nobody reads what we say any more, which is no reason to end.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

process.exitCode = await runPalyrad({
  argv: process.argv.slice(2),
  // oxlint-disable-next-line node/no-process-env -- the program's edge: everything below takes the variables as a value
  variables: process.env,
  version: readVersion(),
  userHome: homedir,
  print: (text) => void process.stdout.write(text),
  complain: (text) => void process.stderr.write(text),
  inputEnds: () => new Promise((resolve) => void process.stdin.resume().once('close', resolve)),
  signal: interruption.signal,
});
// What could not be closed would hold the process.
if (process.exitCode !== 0) process.exit();
