import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { run } from './merkle.ts';

const TOOL = fileURLToPath(new URL('../conformance.ts', import.meta.url));
const VECTORS = fileURLToPath(new URL('../../tests/vectors/merkle', import.meta.url));

let scratch = '';

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'palyra-conformance-merkle-'));
});

afterAll(async () => {
  await rm(scratch, { recursive: true });
});

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

function conformance(directory: string): Promise<Ended> {
  return new Promise((resolve) => {
    const argv = ['--conditions=palyra-source', TOOL, 'merkle', directory];
    execFile(process.execPath, argv, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

/** A copy of our vectors with some more files. */
async function withVectors(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const directory = join(scratch, name);
  await cp(VECTORS, directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
  return directory;
}

/** One more vector in a copy of ours, and what is said of it. */
async function toldOf(name: string, file: string, text: string): Promise<readonly string[]> {
  const lines: string[] = [];
  const { failed, unsupported, total } = await run(await withVectors(name, { [file]: text }), (line) =>
    lines.push(line),
  );
  expect({ unsupported, total, failed }).toEqual({ unsupported: 0, total: 45, failed: lines.length });
  return lines;
}

const ours = (file: string): Promise<string> => readFile(join(VECTORS, file), 'utf8');

test('our own proofs in the form of transparency-dev/merkle hold and fail as they should', async () => {
  expect(await conformance(VECTORS)).toEqual({
    exitCode: 0,
    stdout: '{"suite":"merkle","total":44,"passed":44,"failed":0,"unsupported":0}\n',
    stderr: '',
  });
});

test('wrong expectations, files that are no JSON and JSON that is no vector fail, each by name', async () => {
  const directory = await withVectors('wrong', {
    'inclusion/0/happy-path.json': (await ours('inclusion/proven/leaf-4-of-7.json')).replace('false', 'true'),
    'inclusion/additional/1/modified-proof[0]-bit-4.json': (await ours('inclusion/refused/bit-of-proof.json')).replace(
      'true',
      'false',
    ),
    'consistency/1/size2-*-2.json': (await ours('consistency/proven/4-to-7.json')).replace('false', 'true'),
    'consistency/additional/cut.json': '{"size1":1,',
    'consistency/additional/list.json': '[]',
    'consistency/additional/of-the-other-part.json': await ours('inclusion/proven/leaf-4-of-7.json'),
  });
  const { exitCode, stdout } = await conformance(directory);
  expect({ exitCode, lines: stdout.trimEnd().split('\n') }).toEqual({
    exitCode: 1,
    lines: [
      'failed: inclusion/0/happy-path.json: holds, and must not',
      'failed: inclusion/additional/1/modified-proof[0]-bit-4.json: does not hold, and must',
      'failed: consistency/1/size2-*-2.json: holds, and must not',
      expect.stringContaining('failed: consistency/additional/cut.json: primitives.json_syntax: '),
      'failed: consistency/additional/list.json: the file is not of the published format',
      'failed: consistency/additional/of-the-other-part.json: the file is not of the published format',
      '{"suite":"merkle","total":50,"passed":44,"failed":6,"unsupported":0}',
    ],
  });
});

test.each([
  ['wantErr missing', 'inclusion', '{"leafIdx":0,"treeSize":1,"root":"","leafHash":"","proof":[]}'],
  ['index missing', 'inclusion', '{"treeSize":1,"root":"","leafHash":"","proof":[],"wantErr":true}'],
  ['index as text', 'inclusion', '{"leafIdx":"0","treeSize":1,"root":"","leafHash":"","proof":[],"wantErr":true}'],
  ['root as a number', 'inclusion', '{"leafIdx":0,"treeSize":1,"root":1,"leafHash":"","proof":[],"wantErr":true}'],
  ['proof as text', 'consistency', '{"size1":1,"size2":2,"root1":"","root2":"","proof":"","wantErr":true}'],
  ['numbers as proof', 'consistency', '{"size1":1,"size2":2,"root1":"","root2":"","proof":[1],"wantErr":true}'],
  ['size missing', 'consistency', '{"size1":1,"root1":"","root2":"","proof":[],"wantErr":true}'],
])('a file is no vector with its %s, even if an error is wanted', async (what, part, text) => {
  const name = what.replaceAll(' ', '-');
  expect(await toldOf(name, `${part}/x.json`, text)).toEqual([
    `failed: ${part}/x.json: the file is not of the published format`,
  ]);
});

test.each([
  ['null hashes', 'inclusion', '{"leafIdx":0,"treeSize":1,"root":null,"leafHash":null,"proof":null,"wantErr":true}'],
  ['no hashes', 'inclusion', '{"leafIdx":0,"treeSize":1,"wantErr":true}'],
  ['no base64', 'inclusion', '{"leafIdx":0,"treeSize":1,"root":"?","leafHash":"?","proof":[],"wantErr":true}'],
  ['null in a proof', 'consistency', '{"size1":1,"size2":2,"root1":"","root2":"","proof":[null],"wantErr":true}'],
  ['equal nothing', 'consistency', '{"size1":3,"size2":3,"root1":null,"root2":"","proof":null,"wantErr":false}'],
  [
    'two sizes that only look equal',
    'consistency',
    '{"size1":18446744073709551615,"size2":18446744073709551614,"root1":"","root2":"","proof":[],"wantErr":true}',
  ],
])('a vector may have %s', async (what, part, text) => {
  expect(await toldOf(what.replaceAll(' ', '-'), `${part}/x.json`, text)).toEqual([]);
});

test('the directory may be the one with testdata in it', async () => {
  const directory = join(scratch, 'repository');
  await cp(VECTORS, join(directory, 'testdata'), { recursive: true });
  await writeFile(join(directory, 'package.json'), '{}');
  expect(await run(directory)).toEqual({ suite: 'merkle', total: 44, passed: 44, failed: 0, unsupported: 0 });
});

test('a directory without one half of the suite is an error', async () => {
  const half = join(scratch, 'half');
  await cp(join(VECTORS, 'inclusion'), join(half, 'inclusion'), { recursive: true });
  expect(await conformance(half)).toEqual({
    exitCode: 2,
    stdout: '',
    stderr:
      `error[conformance.missing_directory]: ${join(half, 'consistency')} cannot be read.\n` +
      'fix: Give an existing directory of published vectors.\n',
  });
  await mkdir(join(half, 'consistency'));
  await expect(run(half)).rejects.toThrow(expect.objectContaining({ code: 'conformance.no_vectors' }));
  await expect(run(join(scratch, 'missing'))).rejects.toThrow(
    expect.objectContaining({ code: 'conformance.missing_directory' }),
  );
});
