import { expect, test } from 'vitest';
import { encodeRequest, encodeTool } from '../../packages/sandbox/src/launcher/encode-request.ts';
import { encodeItems, FROM_LAUNCHER, START_ITEM, TO_LAUNCHER } from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, launcherProgram, shell } from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

const CREDIT = Buffer.from([0, 0, 16, 0]);
const LATER = { stdin: true, toolLaterMs: 60_000 };
/** What it will be is not known yet, and this is never told. */
const UNKNOWN = barePlan(['/bin/false'], { watch: { wallMs: 60_000, idleMs: 60_000 } });

async function startWaiting(launcher: RawLauncher, job: number, plan = UNKNOWN): Promise<void> {
  launcher.send(TO_LAUNCHER.start, job, encodeRequest(plan, LATER));
  await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
}

function giveWord(launcher: RawLauncher, job: number, word: Uint8Array): void {
  launcher.send(TO_LAUNCHER.go, job, word);
  launcher.send(TO_LAUNCHER.credit, job, CREDIT);
}

const wordFor = (script: string, stdin = false) => encodeTool(shell(script).tool, { stdin });

async function outputOf(launcher: RawLauncher, job: number): Promise<string> {
  await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.ended);
  const pieces = launcher.frames.filter((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.stdout);
  return Buffer.concat(pieces.map(({ payload }) => payload)).toString();
}

async function refusalOf(launcher: RawLauncher, job: number): Promise<string> {
  const { payload } = await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.failed);
  return payload.toString();
}

test('a job that waits becomes the tool that comes with the word', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startWaiting(launcher, 1);
  const { tool } = shell('echo "$0 $1 $GIVEN"; pwd; readlink /proc/self/fd/0');
  const named = { ...tool, argv: [...tool.argv, 'name', 'argument'], environment: ['GIVEN=variable'], cwd: '/usr' };
  giveWord(launcher, 1, encodeTool(named, { stdin: false }));
  expect(await outputOf(launcher, 1)).toBe('name argument variable\n/usr\n/dev/null\n');
});

test('with input it reads that', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startWaiting(launcher, 1);
  giveWord(launcher, 1, wordFor('cat; echo end', true));
  launcher.send(TO_LAUNCHER.stdin, 1, Buffer.from('to read\n'));
  launcher.send(TO_LAUNCHER.stdinEnd, 1);
  expect(await outputOf(launcher, 1)).toBe('to read\nend\n');
});

test('a word may be longer than a socket takes at once', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startWaiting(launcher, 1);
  const { tool } = shell('for each; do printf %s "$each" | wc -c; done');
  const long = Array.from({ length: 12 }, () => 'x'.repeat(100_000));
  giveWord(launcher, 1, encodeTool({ ...tool, argv: [...tool.argv, 'name', ...long] }, { stdin: false }));
  expect(await outputOf(launcher, 1)).toBe('100000\n'.repeat(12));
});

const whole = wordFor('true');
const MALFORMED: readonly (readonly [what: string, word: Buffer, why: string])[] = [
  ['nothing', Buffer.alloc(0), 'The word names no tool.'],
  ['no items', Buffer.from('not a list of items at all'), 'The request is cut off.'],
  ['one byte too few', whole.subarray(0, whole.length - 1), 'The request is cut off.'],
  [
    'a relative program',
    encodeTool({ ...UNKNOWN.tool, path: 'bin/true' }, { stdin: false }),
    'A path is not absolute.',
  ],
  ['a NUL', encodeTool({ ...UNKNOWN.tool, argv: ['a\0b'] }, { stdin: false }), 'A text holds a NUL.'],
  ['no argv', encodeTool({ ...UNKNOWN.tool, argv: [] }, { stdin: false }), 'The word names no tool.'],
  [
    'another user',
    Buffer.concat([whole, encodeItems([{ tag: START_ITEM.identity, bytes: Buffer.alloc(8, 1) }])]),
    'The word says more than what the tool is.',
  ],
  [
    'other limits',
    Buffer.concat([whole, encodeItems([{ tag: START_ITEM.watch, bytes: Buffer.alloc(32) }])]),
    'The word says more than what the tool is.',
  ],
];

test('a malformed word ends the job that it is for, and no other', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startWaiting(launcher, 1);
  for (const [at, [what, word, why]] of MALFORMED.entries()) {
    await startWaiting(launcher, 100 + at);
    giveWord(launcher, 100 + at, word);
    expect({ what, why: await refusalOf(launcher, 100 + at) }).toEqual({ what, why });
  }
  giveWord(launcher, 1, wordFor('echo undisturbed'));
  expect(await outputOf(launcher, 1)).toBe('undisturbed\n');
});

test('nobody names another tool for a job that has one', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(shell('echo the first'), { stdin: false }));
  await launcher.frame((frame) => frame.job === 1 && frame.kind === FROM_LAUNCHER.facts);
  giveWord(launcher, 1, wordFor('echo another'));
  expect(await refusalOf(launcher, 1)).toBe('The tool was named before.');
  expect(launcher.frames.filter(({ kind }) => kind === FROM_LAUNCHER.stdout)).toEqual([]);
});

test('what cannot be entered or executed is told, and nothing ran', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await startWaiting(launcher, 1);
  giveWord(launcher, 1, encodeTool({ ...shell('echo ran').tool, cwd: '/nonexistent' }, { stdin: false }));
  expect(await refusalOf(launcher, 1)).toBe('the working directory cannot be entered: No such file or directory');
  await startWaiting(launcher, 2);
  giveWord(launcher, 2, encodeTool(barePlan(['/nonexistent']).tool, { stdin: false }));
  expect(await refusalOf(launcher, 2)).toBe('the program could not be executed: No such file or directory');
});

test('it waits no longer than it was told, and its own time begins with the word', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  launcher.send(TO_LAUNCHER.start, 1, encodeRequest(UNKNOWN, { stdin: true, toolLaterMs: 300 }));
  const { payload } = await launcher.frame((frame) => frame.job === 1 && frame.kind === FROM_LAUNCHER.ended);
  // reason: wall
  expect(payload[15]).toBe(1);

  await startWaiting(launcher, 2, barePlan(['/bin/false'], { watch: { wallMs: 1000, idleMs: 1000 } }));
  // Another one ends after 1,200 ms, which is longer than this one may run or be silent.
  launcher.send(TO_LAUNCHER.start, 3, encodeRequest(UNKNOWN, { stdin: true, toolLaterMs: 1200 }));
  await launcher.frame((frame) => frame.job === 3 && frame.kind === FROM_LAUNCHER.ended);
  giveWord(launcher, 2, wordFor('echo in time'));
  expect(await outputOf(launcher, 2)).toBe('in time\n');
});
