import { homedir } from 'node:os';
import { FORWARDED_SIGNALS } from './command.ts';
import { commandsFor } from './command-table.ts';
import { type CliProcess, endWithFault, runCli } from './run-cli.ts';
import { readVersion } from './version.ts';

const interruption = new AbortController();
const interrupt = () => interruption.abort();

const cli: CliProcess = {
  argv: process.argv.slice(2),
  version: readVersion(),
  nodeVersion: process.versions.node,
  commands: await commandsFor(process.argv.slice(2)),
  // oxlint-disable-next-line node/no-process-env -- the program's edge: everything below takes the variables as a value
  variables: process.env,
  userHome: homedir,
  openStdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  workingDirectory: () => process.cwd(),
  signal: interruption.signal,
  takeSignals(listener) {
    const taken = FORWARDED_SIGNALS.map((name) => [name, () => listener(name)] as const);
    process.off('SIGINT', interrupt);
    for (const [name, hear] of taken) process.on(name, hear);
    return {
      release() {
        for (const [name, hear] of taken) process.off(name, hear);
        process.once('SIGINT', interrupt);
      },
    };
  },
};

// SECURITY: T-40 — or Node opens a debugger to whoever connects, in a process that may hold the operator's unlocked key.
process.on('SIGUSR1', () => undefined);
// Only the first time: whoever presses Ctrl-C again wants the process gone, and the default does that.
process.once('SIGINT', interrupt);
process.once('uncaughtException', (thrown) => {
  void endWithFault(thrown, cli).then((exitCode) => process.exit(exitCode));
});

process.exitCode = await runCli(cli);
// Interrupted, something may still be waited for; otherwise Node leaves by itself once all output is written.
if (interruption.signal.aborted) process.exit();
