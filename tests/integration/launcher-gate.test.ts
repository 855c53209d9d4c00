import { randomInt } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { LaunchPlan } from '../../packages/sandbox/src/launch-plan.ts';
import { encodeGate, encodeRequest, encodeWord } from '../../packages/sandbox/src/launcher/encode-request.ts';
import {
  encodeItems,
  FROM_LAUNCHER,
  type Item,
  START_ITEM,
  TO_LAUNCHER,
} from '../../packages/sandbox/src/launcher/wire.ts';
import { barePlan, inBubblewrap, isRoot, launcherProgram, until } from './launched-job.ts';
import { type RawLauncher, startRawLauncher } from './raw-launcher.ts';

const CREDIT = Buffer.from([0, 0, 16, 0]);
const GATE = 1;

/** What is measured of it nobody compares here. */
const box = (argv: readonly [string, ...string[]]): LaunchPlan =>
  barePlan(argv, { ...inBubblewrap('--unshare-user --unshare-pid --unshare-net'), listener: true });

/** Root hands Node over: the checkout may lie where the gate's user cannot go. */
const ofGate = (script: string): Buffer => {
  const { tool, identity } = barePlan([process.execPath, '-e', script]);
  const node = { name: 'gate-0', source: realpathSync(process.execPath), readOnly: true, idmap: false };
  const [path, staged] = identity === undefined ? [tool.path, []] : ['/run/palyra/gate-0', [node]];
  return encodeGate({ tool: { ...tool, path, environment: ['NODE_CHANNEL_FD=7'] }, identity, staged });
};

const SAYS_LABELS = `process.on('message', ({ label }, server) => {
  server.on('connection', (socket) => socket.end(label));
  process.stdout.write('got ' + label + '\\n');
})`;

async function startJob(launcher: RawLauncher, job: number, payload: Buffer): Promise<void> {
  launcher.send(TO_LAUNCHER.start, job, payload);
  launcher.send(TO_LAUNCHER.credit, job, CREDIT);
  await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.facts);
}

async function openGate(launcher: RawLauncher, script = SAYS_LABELS): Promise<void> {
  await startJob(launcher, GATE, ofGate(script));
  launcher.send(TO_LAUNCHER.go, GATE);
}

async function refusalOf(launcher: RawLauncher, job: number): Promise<string> {
  const { payload } = await launcher.frame((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.failed);
  return payload.toString();
}

const textOf = (launcher: RawLauncher, job: number) =>
  Buffer.concat(
    launcher.frames
      .filter((frame) => frame.job === job && frame.kind === FROM_LAUNCHER.stdout)
      .map(({ payload }) => payload),
  ).toString();

const wayOut = (gate: number, label: string): Item[] => {
  const number = Buffer.alloc(4);
  number.writeUInt32LE(gate);
  return [{ tag: START_ITEM.wayOut, bytes: Buffer.concat([number, Buffer.from(label)]) }];
};

const ASK = "import socket\ns = socket.create_connection(('127.0.0.1', 3128))\nprint(s.recv(200).decode())";

test('a listener comes with the facts, and goes to the gate with the word', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await openGate(launcher);
  await startJob(launcher, 2, encodeRequest(box(['/usr/bin/python3', '-c', ASK]), { stdin: false }));
  const facts = launcher.frames.find((frame) => frame.job === 2 && frame.kind === FROM_LAUNCHER.facts);
  expect(facts?.payload.toString('latin1')).toMatch(/127\.0\.0\.1:3128 net:\[\d+\]/);
  launcher.send(TO_LAUNCHER.go, 2, encodeWord({ wayOut: { gate: GATE, label: 'mine' } }));
  await launcher.frame((frame) => frame.job === 2 && frame.kind === FROM_LAUNCHER.ended);
  expect(textOf(launcher, 2)).toBe('mine\n');
  expect(textOf(launcher, GATE)).toBe('got mine\n');
});

test('a word with a way out that is none ends the job that it is for, before its tool', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await openGate(launcher);
  const words: readonly (readonly [what: string, word: Buffer, why: string])[] = [
    ['none', Buffer.alloc(0), 'The word names no way out.'],
    ['a job that is not there', encodeItems(wayOut(4711, 'x')), 'The gate is closed.'],
    ['the job itself, which is no gate', encodeItems(wayOut(102, 'x')), 'The gate is closed.'],
    ['an empty label', encodeItems(wayOut(GATE, '')), 'A way out is malformed.'],
    ['a label with a quote', encodeItems(wayOut(GATE, 'a"')), 'A way out is malformed.'],
    ['a label with a line', encodeItems(wayOut(GATE, 'a\n')), 'A way out is malformed.'],
    ['a label with a NUL', encodeItems(wayOut(GATE, 'a\0')), 'A way out is malformed.'],
    ['a label that is too long', encodeItems(wayOut(GATE, 'x'.repeat(129))), 'A way out is malformed.'],
    ['two of them', encodeItems([...wayOut(GATE, 'a'), ...wayOut(GATE, 'b')]), 'A way out is malformed.'],
    [
      'another tool with it',
      encodeWord({ tool: { ...barePlan(['/bin/true']).tool, stdin: false }, wayOut: { gate: GATE, label: 'x' } }),
      'The tool was named before.',
    ],
  ];
  for (const [at, [what, word, why]] of words.entries()) {
    await startJob(launcher, 100 + at, encodeRequest(box(['/bin/echo', 'ran']), { stdin: false }));
    launcher.send(TO_LAUNCHER.go, 100 + at, word);
    expect({ what, why: await refusalOf(launcher, 100 + at) }).toEqual({ what, why });
    expect(textOf(launcher, 100 + at)).toBe('');
  }
  expect(textOf(launcher, GATE)).toBe('');
});

test('a way out for a job without a listener, and a listener without a sandbox, are refused', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await openGate(launcher);
  await startJob(launcher, 2, encodeRequest(barePlan(['/bin/echo', 'ran']), { stdin: false }));
  launcher.send(TO_LAUNCHER.go, 2, encodeItems(wayOut(GATE, 'x')));
  expect(await refusalOf(launcher, 2)).toBe('A way out was not planned.');
  launcher.send(TO_LAUNCHER.start, 3, encodeRequest({ ...barePlan(['/bin/true']), listener: true }, { stdin: false }));
  expect(await refusalOf(launcher, 3)).toMatch(/^a listener needs a sandbox around it/);
  launcher.send(
    TO_LAUNCHER.start,
    4,
    Buffer.concat([encodeRequest(barePlan(['/bin/true']), { stdin: false }), encodeItems(wayOut(GATE, 'x'))]),
  );
  expect(await refusalOf(launcher, 4)).toBe('A way out, and that streams are handed over, come with the word.');
});

test('a gate is a program and nothing else, and root’s is nobody’s', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  const gate = { tag: START_ITEM.gate, bytes: Buffer.alloc(0) };
  const request = encodeRequest(barePlan(['/bin/true']), { stdin: false });
  // With limits: a gate that is ended by one would take every call along.
  launcher.send(TO_LAUNCHER.start, 2, Buffer.concat([request, encodeItems([gate])]));
  expect(await refusalOf(launcher, 2)).toBe('A gate is a program and nothing else.');
  launcher.send(TO_LAUNCHER.start, 3, encodeItems([{ ...gate, bytes: Buffer.alloc(1) }]));
  expect(await refusalOf(launcher, 3)).toBe('An item has the wrong length.');
  const written = { name: 'gate-0', source: '/usr', readOnly: false, idmap: false };
  launcher.send(
    TO_LAUNCHER.start,
    5,
    encodeGate({ tool: barePlan(['/bin/true']).tool, identity: { uid: 70_000, gid: 70_000 }, staged: [written] }),
  );
  expect(await refusalOf(launcher, 5)).toBe('A gate is a program and nothing else.');
  if (!isRoot) return;
  launcher.send(
    TO_LAUNCHER.start,
    4,
    encodeGate({ tool: barePlan(['/bin/true']).tool, identity: undefined, staged: [] }),
  );
  expect(await refusalOf(launcher, 4)).toMatch(/^a tool may not be root/);
});

test('a gate that has ended gets nothing', async () => {
  await using launcher = await startRawLauncher([launcherProgram()]);
  await openGate(launcher, `process.stdout.write('ready\\n'); process.stdin.on('data', () => process.exit(0))`);
  await until(() => textOf(launcher, GATE) === 'ready\n');
  await startJob(launcher, 2, encodeRequest(box(['/bin/echo', 'ran']), { stdin: false }));
  launcher.send(TO_LAUNCHER.stdin, GATE, Buffer.from('end'));
  await launcher.frame((frame) => frame.job === GATE && frame.kind === FROM_LAUNCHER.ended);
  launcher.send(TO_LAUNCHER.go, 2, encodeWord({ wayOut: { gate: GATE, label: 'late' } }));
  expect(await refusalOf(launcher, 2)).toBe('The gate is closed.');
});

test.runIf(isRoot)(
  'a launcher that works for one user opens gates for the one that it was told, and no tool for that [needs: root]',
  async () => {
    const [owner, nobody] = [randomInt(70_000, 80_000), randomInt(80_000, 90_000)];
    const { tool } = barePlan(['/bin/true']);
    const gateOf = (uid: number, staged: LaunchPlan['staged'] = []) =>
      encodeGate({ tool, identity: { uid, gid: uid }, staged });
    const toolOf = (uid: number) =>
      encodeRequest({ ...barePlan(['/bin/true']), identity: { uid, gid: uid } }, { stdin: false });
    await using launcher = await startRawLauncher([
      launcherProgram(),
      `--only=${owner}:${owner}`,
      `--gate=${nobody}:${nobody}`,
    ]);
    for (const [at, payload] of [gateOf(nobody), toolOf(owner)].entries()) await startJob(launcher, 10 + at, payload);
    launcher.send(TO_LAUNCHER.start, 2, gateOf(owner));
    expect(await refusalOf(launcher, 2)).toMatch(/opens no gate for that user/);
    const root = { name: 'gate-0', source: '/root', readOnly: true, idmap: false };
    launcher.send(TO_LAUNCHER.start, 4, gateOf(nobody, [root]));
    expect(await refusalOf(launcher, 4)).toMatch(/hands nothing over/);
    launcher.send(TO_LAUNCHER.start, 3, toolOf(nobody));
    expect(await refusalOf(launcher, 3)).toMatch(/works for another user/);
    await using without = await startRawLauncher([launcherProgram(), `--only=${owner}:${owner}`]);
    without.send(TO_LAUNCHER.start, 2, gateOf(nobody));
    expect(await refusalOf(without, 2)).toMatch(/opens no gate for that user/);
  },
);
