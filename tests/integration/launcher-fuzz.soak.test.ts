import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { encodeGate, encodeRequest, encodeWord } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { FROM_LAUNCHER, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { launcherVectors } from '../vectors/launcher/make-vectors.ts';
import { barePlan } from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

const isSoak = process.env['PALYRA_SOAK'] === '1';
const MUTATIONS = isSoak ? 20_000_000 : 30_000;
const FRAMES = isSoak ? 20_000 : 600;
const PATIENCE_MS = isSoak ? 3_600_000 : 180_000;
const SEED = 20_261_116;

const native = fileURLToPath(new URL('../../packages/sandbox/native/', import.meta.url));
const corpus = fileURLToPath(new URL('../vectors/launcher/', import.meta.url));

const SANITIZERS = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g', '-O1'];
const WARNINGS = ['-std=c17', '-D_GNU_SOURCE', '-Wall', '-Wextra', '-Werror'];

async function compile(sources: readonly string[], program: string): Promise<string> {
  await promisify(execFile)('cc', [...WARNINGS, ...SANITIZERS, ...sources, '-o', program]);
  return program;
}

async function workDirectory(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'palyra-fuzz-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

async function corpusFiles(): Promise<readonly string[]> {
  const names = await readdir(corpus);
  return names.filter((name) => name.endsWith('.bin')).toSorted();
}

interface FuzzOutcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function fuzzParser(program: string, count: number): Promise<FuzzOutcome> {
  const files = (await corpusFiles()).map((name) => join(corpus, name));
  const child = spawn(program, [String(SEED), String(count), ...files], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [code]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout: stdout.toString(), stderr: stderr.toString() };
}

const parserSources = (directory: string) =>
  ['fuzz/fuzz-request.c', 'wire.c', 'request.c', 'box-layout.c'].map((name) => join(directory, name));

test('the corpus is what the encoder makes of the plans of today', async () => {
  const vectors = launcherVectors();
  expect(await corpusFiles()).toEqual([...vectors.keys()].toSorted());
  for (const [name, bytes] of vectors) {
    const isFresh = bytes.equals(await readFile(join(corpus, name)));
    expect(isFresh, `${name}: run tests/vectors/launcher/make-vectors.ts`).toBe(true);
  }
});

test(`the parser survives ${MUTATIONS} mutated requests under the sanitizers`, { timeout: PATIENCE_MS }, async () => {
  await using directory = await workDirectory();
  const program = await compile(parserSources(native), join(directory.path, 'fuzz-request'));
  const { code, stdout, stderr } = await fuzzParser(program, MUTATIONS);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(`parsed ${launcherVectors().size} files and ${MUTATIONS} mutations`);
  // A fuzzer whose inputs are all refused at the door tests the door.
  expect(Number(/(\d+) of which were accepted/.exec(stdout)?.[1])).toBeGreaterThan(MUTATIONS / 20);
});

/** Each is one slip of the pen, and the fuzzer must see it within what `npm test` runs. */
const PLANTED: readonly { readonly file: string; readonly right: string; readonly wrong: string }[] = [
  { file: 'wire.c', right: '> cursor->left - ITEM_HEADER', wrong: '> cursor->left - ITEM_HEADER + 1' },
  { file: 'request.c', right: 'at + 2 < length + 1', wrong: 'at < length + 2' },
  { file: 'request.c', right: 'if (*count >= limit)', wrong: 'if (*count > limit)' },
  { file: 'request.c', right: 'staged_count >= MAX_STAGED', wrong: 'staged_count > MAX_STAGED' },
  { file: 'request.c', right: 'data_count >= MAX_DATA', wrong: 'data_count > MAX_DATA' },
  { file: 'request.c', right: 'if (item->length < skip)', wrong: 'if (item->length + 1 < skip)' },
  { file: 'request.c', right: 'tag <= ITEM_CWD', wrong: 'tag <= ITEM_WATCH' },
  { file: 'box-layout.c', right: 'has_dots(at) || in_proc(at)', wrong: '(has_dots(at) && in_proc(at))' },
  { file: 'box-layout.c', right: 'at + word->arguments >=', wrong: 'at + word->arguments >' },
  { file: 'request.c', right: 'length != 1 ||', wrong: 'length < 1 ||' },
  { file: 'request.c', right: 'SIGCONT, SIGTSTP}', wrong: 'SIGCONT, SIGSTOP}' },
  { file: 'request.c', right: "|| byte == '.';", wrong: "|| byte == '.' || byte == '\"';" },
  { file: 'request.c', right: 'item->length <= 4 + MAX_LABEL', wrong: 'item->length <= 5 + MAX_LABEL' },
  { file: 'request.c', right: 'payload == OF_WORD && !is_of_word(item.tag)', wrong: 'payload == OF_WORD' },
  {
    file: 'request.c',
    right: 'request->is_gate && !is_plain(request)',
    wrong: 'request->is_gate && !is_plain(request) && request->is_later',
  },
  { file: 'request.c', right: 'has_dots(item->bytes, item->length)', wrong: 'has_dots(item->bytes, 0)' },
];

/** Each takes as long as the rest together; those of the others are found in `npm run soak`. */
const TRIED = isSoak ? PLANTED : PLANTED.filter((_, at) => at % 7 === 0);

test.each(TRIED)(
  'in $file the fuzzer tells $wrong from $right',
  { timeout: PATIENCE_MS },
  async ({ file, right, wrong }) => {
    await using directory = await workDirectory();
    await cp(native, directory.path, { recursive: true, filter: (path) => !path.includes('/build') });
    const source = await readFile(join(directory.path, file), 'utf8');
    expect(source).toContain(right);
    await writeFile(join(directory.path, file), source.replace(right, wrong));
    const program = await compile(parserSources(directory.path), join(directory.path, 'fuzz-request'));
    const { code, stderr } = await fuzzParser(program, 200_000);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/AddressSanitizer|runtime error|^fuzz-request: /m);
  },
);

/** The whole launcher under the sanitizers. It is undumpable, so nobody can look for leaks in it. */
async function sanitizedLauncher(directory: string): Promise<string> {
  const options = join(directory, 'sanitizer-options.c');
  await writeFile(
    options,
    `const char *__asan_default_options(void);
     const char *__asan_default_options(void) { return "detect_leaks=0:abort_on_error=1"; }`,
  );
  const sources = (await readdir(native)).filter((name) => name.endsWith('.c')).map((name) => join(native, name));
  return compile([...sources, options], join(directory, 'palyra-launcher'));
}

/** The same sequence on every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const VICTIM = 1;
const HANDED_OVER = 100;

function mutatedRequest(random: (below: number) => number): Buffer {
  const { tool, identity } = barePlan(['/usr/bin/true']);
  const staged = [{ name: 'gate-0', source: '/usr', readOnly: random(2) === 0, idmap: random(4) === 0 }];
  if (random(6) === 0) return mutated(encodeGate({ tool, identity, staged: random(2) === 0 ? [] : staged }), random);
  const waits = random(2) === 0 ? { toolLaterMs: 60_000 } : {};
  return mutated(encodeRequest(barePlan(['/usr/bin/true']), { stdin: random(2) === 0, ...waits }), random);
}

function mutatedWord(random: (below: number) => number): Buffer {
  const tool = random(3) === 0 ? undefined : { ...barePlan(['/usr/bin/true']).tool, stdin: random(2) === 0 };
  const wayOut = random(3) === 0 ? { gate: 2 + random(40), label: 'label' } : undefined;
  return mutated(encodeWord({ tool, wayOut, handOver: random(3) === 0 }), random);
}

function mutated(bytes: Buffer, random: (below: number) => number): Buffer {
  for (let flips = random(6); flips > 0; flips -= 1) {
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
  }
  return random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
}

function sendOddFrame(launcher: RawLauncher, random: (below: number) => number): void {
  const job = 2 + random(40);
  const choice = random(14);
  if (choice < 4) launcher.send(TO_LAUNCHER.start, job, mutatedRequest(random));
  else if (choice < 8) launcher.send(1 + random(9), job, Buffer.alloc(random(64), random(256)));
  else if (choice < 9) launcher.send(random(256), job, Buffer.alloc(random(2000), random(256)));
  else if (choice < 10) launcher.send(TO_LAUNCHER.kill, job);
  else if (choice < 11) launcher.send(TO_LAUNCHER.signal, job, Buffer.alloc(random(8) === 0 ? 2 : 1, random(32)));
  else launcher.send(TO_LAUNCHER.go, job, random(4) === 0 ? Buffer.alloc(0) : mutatedWord(random));
}

/** With input that has come before the word, and with everything said to it twice. */
async function handOver(launcher: RawLauncher): Promise<void> {
  launcher.send(TO_LAUNCHER.start, HANDED_OVER, encodeRequest(barePlan(['/bin/cat']), { stdin: true }));
  await launcher.frame(({ kind, job }) => job === HANDED_OVER && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.stdin, HANDED_OVER, Buffer.from('early'));
  for (let time = 0; time < 2; time += 1) {
    launcher.send(TO_LAUNCHER.go, HANDED_OVER, encodeWord({ handOver: true }));
    launcher.send(TO_LAUNCHER.stdin, HANDED_OVER, Buffer.from('late'));
    launcher.send(TO_LAUNCHER.stdinEnd, HANDED_OVER);
  }
  await launcher.frame(({ kind, job }) => job === HANDED_OVER && kind === FROM_LAUNCHER.ended);
}

async function endVictim(launcher: RawLauncher): Promise<string> {
  launcher.send(TO_LAUNCHER.stdin, VICTIM, Buffer.from('and here is the end\n'));
  launcher.send(TO_LAUNCHER.stdinEnd, VICTIM);
  const { payload } = await launcher.frame(({ kind, job }) => job === VICTIM && kind === FROM_LAUNCHER.ended);
  expect(payload.subarray(6, 16)).toEqual(Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0]));
  const output = launcher.frames.filter(({ kind, job }) => job === VICTIM && kind === FROM_LAUNCHER.stdout);
  return Buffer.concat(output.map(({ payload: bytes }) => bytes)).toString();
}

test(`${FRAMES} odd frames neither break the launcher nor disturb a job`, { timeout: PATIENCE_MS }, async () => {
  await using directory = await workDirectory();
  await using launcher = await startRawLauncher([await sanitizedLauncher(directory.path)], { hands: 'free' });
  const credit = Buffer.from([255, 255, 255, 0]);
  launcher.send(TO_LAUNCHER.start, VICTIM, encodeRequest(barePlan(['/bin/cat']), { stdin: true }));
  launcher.send(TO_LAUNCHER.credit, VICTIM, credit);
  await launcher.frame(({ kind, job }) => job === VICTIM && kind === FROM_LAUNCHER.facts);
  launcher.send(TO_LAUNCHER.go, VICTIM);

  await handOver(launcher);

  const random = createRandom(SEED);
  for (let sent = 0; sent < FRAMES; sent += 1) {
    sendOddFrame(launcher, random);
    // Another word for one that runs: its pipes stay with the launcher.
    if (sent % 50 === 0) launcher.send(TO_LAUNCHER.go, VICTIM, encodeWord({ handOver: true }));
    if (sent % 100 !== 0) continue;
    const line = `line ${sent}\n`;
    launcher.send(TO_LAUNCHER.stdin, VICTIM, Buffer.from(line));
    await launcher.frame(
      ({ kind, job, payload }) => kind === FROM_LAUNCHER.stdout && job === VICTIM && payload.includes(line),
    );
  }
  expect(await endVictim(launcher)).toMatch(/^line 0\nline 100\n.*and here is the end\n$/s);
  expect(await launcher.close()).toEqual({ code: 0, signal: null });
  expect(launcher.printed()).toBe('');
  // Both ends of it, once; and nothing of one that runs already.
  expect(launcher.handed.filter((job) => job === HANDED_OVER)).toHaveLength(2);
  expect(launcher.handed).not.toContain(VICTIM);
});

test('bytes that are no frames at all do not break the launcher', { timeout: PATIENCE_MS }, async () => {
  await using directory = await workDirectory();
  const program = await sanitizedLauncher(directory.path);
  const random = createRandom(SEED);
  for (let round = 0; round < (isSoak ? 400 : 8); round += 1) {
    await using launcher = await startRawLauncher([program]);
    const start = encodeRequest(barePlan(['/usr/bin/true']), { stdin: false });
    for (let sent = 0; sent < 50; sent += 1) {
      const noise = Buffer.from(Array.from({ length: random(300) }, () => random(256)));
      launcher.sendBytes(random(3) === 0 ? start : noise);
    }
    expect(await launcher.close()).toEqual({ code: 0, signal: null });
    expect(launcher.printed()).toBe('');
  }
});
