import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const TOOL = fileURLToPath(new URL('../../tools/conformance.ts', import.meta.url));
const VECTORS = fileURLToPath(new URL('../vectors/jcs', import.meta.url));
const WASM_VECTORS = fileURLToPath(new URL('../vectors/wasm', import.meta.url));
const CEDAR_VECTORS = fileURLToPath(new URL('../vectors/cedar', import.meta.url));

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

let scratch = '';

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'palyra-conformance-'));
});

afterAll(async () => {
  await rm(scratch, { recursive: true });
});

function conformance(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const argv = ['--conditions=palyra-source', TOOL, ...args];
    execFile(process.execPath, argv, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

/** A copy of our vectors with some files replaced; undefined removes one. */
async function changedVectors(
  name: string,
  changes: Readonly<Record<string, string | undefined>>,
  vectors = VECTORS,
): Promise<string> {
  const directory = join(scratch, name);
  await cp(vectors, directory, { recursive: true });
  for (const [file, text] of Object.entries(changes)) {
    if (text === undefined) await rm(join(directory, file));
    else await writeFile(join(directory, file), text);
  }
  return directory;
}

test('the published vectors pass', async () => {
  expect(await conformance('jcs', VECTORS)).toEqual({
    exitCode: 0,
    stdout: '{"suite":"jcs","total":6,"passed":6,"failed":0,"unsupported":0}\n',
    stderr: '',
  });
});

test('wrong bytes, a wrong hex file, missing files and bad input fail, each by name', async () => {
  const directory = await changedVectors('wrong', {
    'output/arrays.json': '[56,{"1":[],"10":null,"d":false}]',
    'output/french.json': undefined,
    'input/structures.json': undefined,
    'outhex/unicode.txt': '7b 7d\n',
    'input/values.json': '{"a":1,"a":2}',
  });
  expect(await conformance('jcs', directory)).toEqual({
    exitCode: 1,
    stdout: [
      'failed: arrays: byte 26 differs (we write 32 bytes, 33 are expected)',
      'failed: french: output/french.json is missing',
      'failed: structures: input/structures.json is missing',
      'failed: unicode: outhex/unicode.txt holds other bytes',
      'failed: values: primitives.json_duplicate_key: An object repeats the key at line 1, column 8 (offset 7).',
      '{"suite":"jcs","total":6,"passed":1,"failed":5,"unsupported":0}',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('a vector that asks for an integer beyond 2^53 is unsupported, not failed', async () => {
  const directory = await changedVectors('large', {
    'input/large.json': '[9007199254740993]',
    'output/large.json': '[9007199254740992]',
  });
  const { exitCode, stdout } = await conformance('jcs', directory);
  expect({ exitCode, last: stdout.trimEnd().split('\n').at(-1) }).toEqual({
    exitCode: 0,
    last: '{"suite":"jcs","total":7,"passed":6,"failed":0,"unsupported":1}',
  });
});

test('a directory without vectors is an error', async () => {
  const directory = join(scratch, 'empty');
  await mkdir(join(directory, 'input'), { recursive: true });
  await mkdir(join(directory, 'output'));
  expect(await conformance('jcs', directory)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'error[conformance.no_vectors]: The directory holds no vectors of jcs.\n' +
      'fix: Give the directory that the suite publishes its test data in.\n',
  });
});

test('a missing directory is an error', async () => {
  const missing = join(scratch, 'missing');
  expect(await conformance('jcs', missing)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      `error[conformance.missing_directory]: ${join(missing, 'input')} cannot be read.\n` +
      'fix: Give an existing directory of published vectors.\n',
  });
});

test.each([[[]], [['jcs']], [['jcs', 'a', 'b']]])('wrong usage is an error: %j', async (args) => {
  expect(await conformance(...args)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'error[conformance.usage]: A suite and a directory are needed.\n' +
      'fix: Run: conformance SUITE DIR, where SUITE is one of jcs, cedar, merkle, wasm-spec, wasi.\n',
  });
});

test('an unknown suite is an error', async () => {
  expect(await conformance('constructor', VECTORS)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      'error[conformance.unknown_suite]: There is no suite of that name.\nfix: Name one of jcs, cedar, merkle, wasm-spec, wasi.\n',
  });
});

test("our own cases in Cedar's format pass", async () => {
  expect(await conformance('cedar', CEDAR_VECTORS)).toEqual({
    exitCode: 0,
    stdout: '{"suite":"cedar","total":25,"passed":25,"failed":0,"unsupported":0}\n',
    stderr: '',
  });
});

test('wrong expectations, a wrong verdict, missing files and no requests fail, each by name', async () => {
  const original = (name: string) => readFile(join(CEDAR_VECTORS, 'tests', name), 'utf8');
  const groups = await original('groups.json');
  const bigint = await original('bigint.json');
  const directory = await changedVectors(
    'cedar-wrong',
    {
      'tests/groups.json': groups.replace('"reason": [\n        "policy0"', '"reason": [\n        "policy1"'),
      'tests/bigint.json': bigint.replace('-9223372036854775808', '-9223372036854775807'),
      'tests/errors.json': (await original('errors.json')).replace('"errors": []', '"errors": ["policy1"]'),
      'tests/mistyped.json': (await original('mistyped.json')).replace('false', 'true'),
      'tests/unlinked-template.cedar': undefined,
      'tests/empty.json': '{"policies":"tests/groups.cedar","entities":"x","queries":[]}',
      'tests/json-policies.cedar.json': '{"staticPolicies":{},"templates":{"t":{}}}',
    },
    CEDAR_VECTORS,
  );
  const { exitCode, stdout } = await conformance('cedar', directory);
  expect({ exitCode, lines: stdout.trimEnd().split('\n') }).toEqual({
    exitCode: 1,
    lines: [
      'failed: tests/bigint.json: the smallest Long: we say allow, reasons [policy0], errors []; expected is allow, reasons [policy0,policy2], errors []',
      'failed: tests/empty.json: the file is not of the published format',
      'failed: tests/errors.json: nothing goes wrong: we say allow, reasons [policy0], errors []; expected is allow, reasons [policy0], errors [policy1]',
      'failed: tests/groups.json: a member through two clubs, a shelf through two shelves: we say allow, reasons [policy0], errors []; expected is allow, reasons [policy1], errors []',
      'unsupported: tests/json-policies.json: templates in JSON policies',
      'unsupported: tests/json-policies.json: templates in JSON policies',
      ...Array.from({ length: 3 }, () => 'failed: tests/mistyped.json: validation says invalid, valid is expected'),
      'failed: tests/unlinked-template.json: tests/unlinked-template.cedar is missing',
      '{"suite":"cedar","total":26,"passed":16,"failed":8,"unsupported":2}',
    ],
  });
});

test('a corpus may be given without the directory its paths begin at', async () => {
  const directory = await changedVectors('cedar-flat', {}, CEDAR_VECTORS);
  const { exitCode, stdout } = await conformance('cedar', join(directory, 'tests'));
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: '{"suite":"cedar","total":25,"passed":25,"failed":0,"unsupported":0}\n',
  });
});

test('a directory without cases is an error', async () => {
  const directory = join(scratch, 'cedar-empty');
  await mkdir(directory);
  await writeFile(join(directory, 'other.json'), '[]');
  expect((await conformance('cedar', directory)).exitCode).toBe(2);
  expect((await conformance('cedar', join(directory, 'missing'))).stderr).toContain('conformance.missing_directory');
});

test('our own WebAssembly scripts do the same plain and metered', async () => {
  expect(await conformance('wasm-spec', WASM_VECTORS)).toEqual({
    exitCode: 0,
    stdout: [
      'unsupported: refused/proposals.wast: tail calls; threads (a shared memory); memory64 (a memory of 64-bit addresses); several memories; relaxed SIMD; garbage collection (a type other than that of a function); wide arithmetic',
      '{"suite":"wasm-spec","total":15,"passed":14,"failed":0,"unsupported":1,"agreed":207,"deviations":0,"unread":0}',
      '',
    ].join('\n'),
    stderr: '',
  });
});

test('a script that expects something else is told, and one that is none fails', async () => {
  const directory = join(scratch, 'wasm-wrong');
  await mkdir(directory);
  const module = '(module (func (export "f") (result i32) (i32.const 1)))';
  await writeFile(join(directory, 'wrong.wast'), `${module} (assert_return (invoke "f") (i32.const 2))`);
  await writeFile(join(directory, 'broken.wast'), '(module');
  await writeFile(join(directory, 'unread.wast'), '(module (func (i32.nothing)))');
  const { exitCode, stdout } = await conformance('wasm-spec', directory);
  expect({ exitCode, lines: stdout.trimEnd().split('\n') }).toEqual({
    exitCode: 1,
    lines: [
      'failed: broken.wast: A parenthesis is not closed.',
      expect.stringContaining('unread: unread.wast: line 1: '),
      'deviation: wrong.wast: line 1: V8 gives returned i32:1',
      '{"suite":"wasm-spec","total":3,"passed":1,"failed":1,"unsupported":1,"agreed":2,"deviations":1,"unread":1}',
    ],
  });
});
