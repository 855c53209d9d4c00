import { homedir } from 'node:os';
import { createDevicePair } from '../../apps/cli/src/commands/device-pair.ts';
import { runCli } from '../../apps/cli/src/run-cli.ts';
import { createThrowawayCa } from '../attack/throwaway-ca.ts';

/** `palyra device pair` as a process of its own, with a CA that lives as long as it does. */
const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());

process.exitCode = await runCli({
  argv: process.argv.slice(2),
  version: '1.2.3',
  nodeVersion: process.versions.node,
  commands: [
    createDevicePair(async () => ({
      ...(await createThrowawayCa(Date.now)),
      findDevice: async () => undefined,
      close: async () => undefined,
    })),
  ],
  variables: process.env,
  userHome: homedir,
  openStdin: () => process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  workingDirectory: () => process.cwd(),
  signal: interruption.signal,
});
