import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { encodeRequest, encodeTool } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { encodeItems, FROM_LAUNCHER, START_ITEM, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { launcherVectors } from '../vectors/launcher/make-vectors.ts';
import {
  barePlan,
  inBubblewrap,
  launch,
  launcherProgram,
  openLauncher,
  type PlanChanges,
  shell,
  stageProgram,
} from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

const OPTIONS = '--unshare-user --unshare-pid --unshare-net --proc /proc';
const STAGE = stageProgram();
/** How a copy of it in memory is called, from outside. */
const IN_MEMORY = '/memfd:palyra-stage (deleted)';

const boxed = (script: string, changes: PlanChanges = {}): LaunchPlan =>
  shell(script, { ...inBubblewrap(OPTIONS), ...changes });

function workDirectory(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'palyra-stage-'));
  chmodSync(path, 0o755);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}

interface Segment {
  readonly type: number;
  readonly flags: number;
}

/** Program headers of a 64-bit little-endian ELF file. */
function segmentsOf(file: Buffer): readonly Segment[] {
  const table = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  return Array.from({ length: file.readUInt16LE(56) }, (_, at) => ({
    type: file.readUInt32LE(table + at * size),
    flags: file.readUInt32LE(table + at * size + 4),
  }));
}

test('the stage needs no library and no loader, and nothing in it is both written and executed', () => {
  const segments = segmentsOf(readFileSync(STAGE));
  const [DYNAMIC, INTERPRETER, STACK] = [2, 3, 0x6474_e551];
  const [EXECUTED, WRITTEN] = [1, 2];
  expect(segments.filter(({ type }) => type === DYNAMIC || type === INTERPRETER)).toEqual([]);
  expect(segments.filter(({ flags }) => (flags & EXECUTED) !== 0 && (flags & WRITTEN) !== 0)).toEqual([]);
  expect(segments.filter(({ type }) => type === STACK).map(({ flags }) => flags & EXECUTED)).toEqual([0]);
});

/** Which program a sandbox is, while it waits for its word. */
async function programIn(launcherFile: string): Promise<string> {
  await using launcher = await openLauncher(launcherFile);
  const job = launch(launcher, boxed('echo ran'), { word: 'wait' });
  const { outside } = await job.facts;
  const programs = outside.map(({ pid }) => readlinkSync(`/proc/${pid}/exe`));
  job.go();
  expect(await job.ended).toMatchObject({ kind: 'ended', report: { exitCode: 0 } });
  expect(job.output().toString()).toBe('ran\n');
  const [stage = ''] = programs.filter((path) => !path.endsWith('bwrap'));
  return stage;
}

test('a sandbox becomes its tool by the stage beside the launcher, and by the launcher where there is none', async () => {
  using directory = workDirectory();
  const launcher = join(directory.path, 'launcher');
  const stage = join(directory.path, 'palyra-stage');
  copyFileSync(launcherProgram(), launcher);
  expect(await programIn(launcher)).toBe(launcher);
  copyFileSync(STAGE, stage);
  expect(await programIn(launcher)).toBe(IN_MEMORY);
  expect(await programIn(launcherProgram())).toBe(IN_MEMORY);
});

/** What it says to the launcher, which is never there: so it runs nothing. In namespaces of its own, because it limits pid 1. */
async function saidBy(program: string, file: string): Promise<{ readonly code: number; readonly said: Buffer }> {
  const request = openSync(file, 'r');
  const argv = ['--dev-bind', '/', '/', ...OPTIONS.split(' '), '--die-with-parent', program, 'stage'];
  const child = spawn('/usr/bin/bwrap', argv, { stdio: ['ignore', 'ignore', 'inherit', 'pipe', request] });
  closeSync(request);
  const socket = child.stdio[3] as Socket;
  const chunks: Buffer[] = [];
  // Whoever has told its facts waits for a word; the other end of a socket that is shut says that there is none.
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (isWhole(Buffer.concat(chunks))) socket.end();
  });
  socket.on('error', () => {});
  const [code] = (await once(child, 'close')) as [number];
  return { code, said: Buffer.concat(chunks) };
}

const BRINGS = 'B'.charCodeAt(0);
const HERE = 'H'.charCodeAt(0);
const FACTS = 'F'.charCodeAt(0);

/** Descriptors come before it, where there are any. */
function afterDescriptors(said: Buffer): Buffer {
  return said[0] === BRINGS ? said.subarray(1) : said;
}

function isWhole(all: Buffer): boolean {
  const said = afterDescriptors(all);
  return said[0] === HERE && said[1] === FACTS && said.length >= 6 && said.length - 6 >= said.readUInt32LE(2);
}

/** Of facts, which are there, and the texts of those that are no other ones each time. Of a fault, every byte. */
function readable({ code, said: all }: { readonly code: number; readonly said: Buffer }): string {
  if (!isWhole(all)) return `${code} ${all.toString('latin1')}`;
  const said = afterDescriptors(all);
  const facts: string[] = [];
  for (let at = 6; at < said.length; at += 6 + said.readUInt32LE(at + 2)) {
    const [name = '', text] = said.toString('latin1', at + 6, at + 6 + said.readUInt32LE(at + 2)).split('\0');
    facts.push(/^(?:limits|net\/|bound)/.test(name) ? `${name}=${text}` : name);
  }
  return `${code} facts: ${facts.join(' ')}`;
}

/** The same sequence on every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function oddRequests(): readonly Buffer[] {
  const random = createRandom(20_261_117);
  const { argv, environment, ...tool } = barePlan(['/bin/true']).tool;
  const plan = (changes: object) =>
    encodeRequest({ ...barePlan(['/bin/true']), identity: undefined, ...changes }, { stdin: false });
  const texts = (tag: number, count: number) =>
    encodeItems(Array.from({ length: count }, () => ({ tag, bytes: Buffer.from('text') })));
  const whole = plan({});
  const asked = [
    Buffer.alloc(0),
    Buffer.alloc(4 * 1024 * 1024 + 1),
    whole,
    plan({ tool: { ...tool, argv, environment, cwd: '/nonexistent' } }),
    plan({ tool: { ...tool, argv: [...argv, ...Array.from({ length: 30 }, () => 'x'.repeat(100_000))], environment } }),
    Buffer.concat([whole, texts(START_ITEM.toolArgument, 4095)]),
    Buffer.concat([whole, texts(START_ITEM.toolArgument, 4096)]),
    Buffer.concat([whole, texts(START_ITEM.toolVariable, 1100)]),
    plan({
      expected: {
        ...barePlan(['/bin/true']).expected,
        bound: ['/', '/nonexistent', '/bin/true'].map((path) => ({ path })),
      },
    }),
    plan({ listener: true, tmpfs: ['/dev/shm', '/nonexistent'] }),
  ];
  const vectors = [...launcherVectors().values()];
  const mutated = Array.from({ length: 24 }, (_, at) => {
    const bytes = Buffer.from(at % 2 === 0 ? whole : (vectors[at % vectors.length] ?? whole));
    for (let flips = 1 + random(3); flips > 0; flips -= 1) {
      const place = random(bytes.length);
      bytes[place] = (bytes[place] ?? 0) ^ (1 << random(8));
    }
    return at % 4 === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
  });
  return [...asked, ...mutated];
}

test('with and without a C library the same is said of requests, odd ones and others', async () => {
  using directory = workDirectory();
  const file = join(directory.path, 'request');
  const answers = [];
  for (const request of oddRequests()) {
    writeFileSync(file, request);
    const [bare, launcher] = [await saidBy(STAGE, file), await saidBy(launcherProgram(), file)].map(readable);
    expect(bare).toBe(launcher);
    answers.push(bare);
  }
  // Both kinds of answer, or nothing was compared.
  expect(answers.filter((each) => each?.startsWith('126 facts: status limits=Limit ')).length).toBeGreaterThan(5);
  expect(answers.filter((each) => each?.startsWith('126 E')).length).toBeGreaterThan(5);
});

test.for([[['stage', 'more']], [['other']], [[]]] as const)('with the words %j it does nothing', ([words]) => {
  const { status, stdout, stderr } = spawnSync(STAGE, words, { encoding: 'utf8' });
  expect({ status, stdout, stderr }).toEqual({ status: 126, stdout: '', stderr: '' });
});

async function waitingBox(launcher: RawLauncher, changes: PlanChanges = {}): Promise<void> {
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(boxed('false', changes), { stdin: false, toolLaterMs: 60_000 }));
  await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.facts);
}

const longWord = (): Buffer => {
  const { tool } = shell('for each; do printf %s "$each" | wc -c; done');
  const long = Array.from({ length: 12 }, () => 'x'.repeat(100_000));
  return encodeTool({ ...tool, argv: [...tool.argv, 'name', ...long] }, { stdin: false });
};

test('a tool that is named later may be longer than what the stage has room for in itself', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await waitingBox(launcher);
  launcher.send(TO_LAUNCHER.go, 1, longWord());
  launcher.send(TO_LAUNCHER.credit, 1, Buffer.from([0, 0, 16, 0]));
  await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.ended);
  const output = launcher.frames.filter(({ kind }) => kind === FROM_LAUNCHER.stdout).map(({ payload }) => payload);
  expect(Buffer.concat(output).toString()).toBe('100000\n'.repeat(12));
});

test('without memory for it, it is refused in words, and nothing runs', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await waitingBox(launcher, { rlimits: [{ name: 'as', soft: 1024 * 1024, hard: 1024 * 1024 }] });
  launcher.send(TO_LAUNCHER.go, 1, longWord());
  const { payload } = await launcher.frame(({ job, kind }) => job === 1 && kind === FROM_LAUNCHER.failed);
  expect(payload.toString()).toBe('the tool is unreadable: Cannot allocate memory');
});
