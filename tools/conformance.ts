import { describeError } from '@palyra/primitives';
import { run as runCedar } from './conformance/cedar.ts';
import { run as runJcs } from './conformance/jcs.ts';
import { run as runMerkle } from './conformance/merkle.ts';
import { ConformanceError, type RunSuite } from './conformance/suite.ts';
import { run as runWasi } from './conformance/wasi.ts';
import { run as runWasmSpec } from './conformance/wasm-spec.ts';

/**
 * `node --conditions=palyra-source tools/conformance.ts SUITE DIR`
 *
 * Holds our code to a published suite of test vectors. Vectors that do not pass are named on standard output; its
 * last line is one JSON object. The exit code is 0 only when vectors were found and none failed.
 */
const SUITES: ReadonlyMap<string, RunSuite> = new Map([
  ['jcs', runJcs],
  ['cedar', runCedar],
  ['merkle', runMerkle],
  ['wasm-spec', runWasmSpec],
  ['wasi', runWasi],
]);

async function main(args: readonly string[]): Promise<number> {
  const [suite, directory] = args;
  if (suite === undefined || directory === undefined || args.length > 2) {
    throw new ConformanceError('conformance.usage', 'A suite and a directory are needed.', {
      fix: `Run: conformance SUITE DIR, where SUITE is one of ${[...SUITES.keys()].join(', ')}.`,
    });
  }
  const run = SUITES.get(suite);
  if (run === undefined) {
    throw new ConformanceError('conformance.unknown_suite', 'There is no suite of that name.', {
      fix: `Name one of ${[...SUITES.keys()].join(', ')}.`,
    });
  }
  const result = await run(directory, (line) => console.log(line));
  console.log(JSON.stringify(result));
  return result.failed === 0 ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const { code, message, fix } = describeError(error);
  console.error(`error[${code}]: ${message}`);
  if (fix !== undefined) console.error(`fix: ${fix}`);
  if (code === 'internal') console.error(error);
  process.exitCode = 2;
}
