import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const TOOL = fileURLToPath(new URL('./conformance.ts', import.meta.url));
const VECTORS = fileURLToPath(new URL('../tests/vectors/jcs', import.meta.url));

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
async function changedVectors(name: string, changes: Readonly<Record<string, string | undefined>>): Promise<string> {
  const directory = join(scratch, name);
  await cp(VECTORS, directory, { recursive: true });
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
      'fix: Run: conformance SUITE DIR, where SUITE is one of jcs.\n',
  });
});

test('an unknown suite is an error', async () => {
  expect(await conformance('constructor', VECTORS)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: 'error[conformance.unknown_suite]: There is no suite of that name.\nfix: Name one of jcs.\n',
  });
});
