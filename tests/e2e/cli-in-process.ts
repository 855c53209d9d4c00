import { Readable, Writable } from 'node:stream';
import { commandsFor } from '../../apps/cli/src/command-table.ts';
import { runCli } from '../../apps/cli/src/run-cli.ts';

interface Invocation {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly input: string;
}

/** `palyra` but for its process: a file that calls it a hundred times would start a hundred, half a second each. */
export async function runInProcess({ args, cwd, variables, input }: Invocation) {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const exit = await runCli({
    argv: args,
    version: '1.2.3',
    nodeVersion: process.versions.node,
    commands: await commandsFor(args),
    variables,
    userHome: () => cwd,
    openStdin: () => Readable.from([Buffer.from(input)]),
    stdout: into(out),
    stderr: into(err),
    workingDirectory: () => cwd,
    signal: new AbortController().signal,
  });
  return { exit, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
}

function into(chunks: Buffer[]): Writable {
  return new Writable({ write: (chunk: Buffer, _encoding, done) => done(void chunks.push(chunk)) });
}
