import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './run.ts';

let directory = '';

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'palyra-bench-'));
  const harness = JSON.stringify(new URL('./harness.ts', import.meta.url).href);
  const demo = `
    import { defineBenchmark } from ${harness};
    export default defineBenchmark({
      name: 'demo', description: 'A demonstration.', baseline: 'one', ratioOf: 'per_s', setup: () => undefined,
      contenders: [{ name: 'one', prepare: () => ({ operation: () => new Promise(setImmediate) }) }],
    });
  `;
  writeFileSync(join(directory, 'demo.bench.ts'), demo);
  writeFileSync(join(directory, 'other.bench.ts'), demo);
  writeFileSync(join(directory, 'not-a-benchmark.ts'), 'throw new Error("loaded")');
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function bench(...args: string[]) {
  const output = { stdout: '', stderr: '' };
  const exitCode = await run(args, {
    directory: pathToFileURL(`${directory}/`),
    stdout: (text) => {
      output.stdout += text;
    },
    stderr: (text) => {
      output.stderr += text;
    },
    isTerminal: false,
  });
  return { exitCode, ...output };
}

test('--json prints one JSON document and nothing else', async () => {
  const { exitCode, stdout, stderr } = await bench('demo', '--json', '--rounds', '2', '--seconds', '0.02');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(Object.keys(JSON.parse(stdout))).toEqual(['bench', 'baseline', 'ratio_of', 'rows']);
  expect(Object.keys(JSON.parse(stdout).rows[0])).toEqual(['name', 'p50_ms', 'p99_ms', 'per_s', 'ratio']);
});

test('without --json it prints a table', async () => {
  const { stdout } = await bench('demo', '--rounds', '1', '--seconds', '0.01');
  expect(stdout).toMatch(/^demo: ratio to "one"/);
});

test('an unknown name is an error with its fix', async () => {
  expect(await bench('nothing')).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'error[bench.unknown]: There is no benchmark "nothing".\nfix: Name one of: demo, other.\n',
  });
  expect(JSON.parse((await bench('nothing', '--json')).stderr)).toEqual({
    error: { code: 'bench.unknown', message: 'There is no benchmark "nothing".', fix: 'Name one of: demo, other.' },
  });
});

test.for([
  [[], 'Name one benchmark.'],
  [['demo', 'other'], 'Name one benchmark.'],
  [['demo', '--rounds', '0'], '--rounds wants a positive number, not 0.'],
  [['demo', '--rounds', '1.5'], '--rounds wants a whole number, not 1.5.'],
  [['demo', '--seconds', 'x'], '--seconds wants a positive number, not x.'],
] as const)('bad usage %j exits with 2', async ([args, message]) => {
  const { exitCode, stderr } = await bench(...args);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(`error[bench.usage]: ${message}\nfix: npm run -s bench`);
});

test('an unknown option is bad usage', async () => {
  const { exitCode, stderr } = await bench('demo', '--fast');
  expect(exitCode).toBe(2);
  expect(stderr).toContain('error[bench.usage]');
});

test('a file that exports a benchmark of another name is refused', async () => {
  const { exitCode, stderr } = await bench('other');
  expect(exitCode).toBe(1);
  expect(stderr).toContain('error[bench.invalid]: bench/other.bench.ts exports no benchmark named "other".');
});

test('--list names and describes', async () => {
  rmSync(join(directory, 'other.bench.ts'));
  expect(await bench('--list')).toEqual({ exitCode: 0, stdout: 'demo  A demonstration.\n', stderr: '' });
});
