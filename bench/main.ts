import { run } from './run.ts';

process.exitCode = await run(process.argv.slice(2), {
  directory: new URL('./', import.meta.url),
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  isTerminal: process.stderr.isTTY,
});
