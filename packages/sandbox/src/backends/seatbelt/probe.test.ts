import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { makeProbePlace, type ProbePlace } from '../../probe/probe-place.ts';
import type { SeatbeltSurvey } from './plan.ts';
import { type ProbeEnd, type ProbeStart, probeSeatbelt, SEATBELT_LAYERS } from './probe.ts';

const ROOT = '/private/var/folders/zz/palyra-probe-1';

const PLACE: ProbePlace = {
  workspace: `${ROOT}/workspace`,
  outside: `${ROOT}/outside`,
  mark: 'palyra-probe-1',
  remove: () => undefined,
};

const SURVEY: SeatbeltSurvey = {
  workspace: { root: `${ROOT}/workspace`, gitDirectories: [] },
  operatorHome: '/Users/ada',
  home: `${ROOT}/home`,
  temporary: `${ROOT}/tmp`,
  developerDirectory: undefined,
  toolchains: { path: '/usr/bin:/bin', readOnly: [], environment: {} },
  resolved: new Map(),
  masked: [],
  protectedPaths: [],
  program: '/bin/sh',
  terminalDevice: undefined,
  tasksOnHost: 1,
};

const NEEDED = ['keep_work', 'keep_home', 'keep_temporary'];

/** Answers every attempt of the script that it is given: what a command can do inside, and outside. */
function mac(can: { readonly inside: readonly string[]; readonly outside: readonly string[] }, inside?: ProbeEnd) {
  const started: (readonly string[])[] = [];
  const run = async (argv: readonly string[]): Promise<ProbeEnd> => {
    started.push(argv);
    const isInside = argv[0] === '/usr/bin/sandbox-exec';
    if (isInside && inside !== undefined) return inside;
    const names = [...(argv.at(-1) ?? '').matchAll(/^can (\w+) /gm)].map(([, name = '']) => name);
    const able = isInside ? can.inside : can.outside;
    const lines = names.map((name) => `${name}=${able.includes('*') || able.includes(name) ? 'yes' : 'no'}`);
    return { exitCode: 0, stdout: [...lines, 'ended=yes', ''].join('\n') };
  };
  return { started, context: { survey: SURVEY, place: PLACE, port: 4000, peer: 17, run } };
}

async function layersOf(...scene: Parameters<typeof mac>) {
  const { layers } = await probeSeatbelt(mac(...scene).context);
  expect(layers.map(({ layer }) => layer)).toEqual(SEATBELT_LAYERS);
  return new Map(layers.map(({ layer, state }) => [layer, state]));
}

test('what works outside and not inside is held; the tier is unavailable all the same', async () => {
  const { context, started } = mac({ inside: NEEDED, outside: ['*'] });
  const report = await probeSeatbelt(context);
  expect(report).toMatchObject({ state: 'unavailable', reason: 'There is no launcher for macOS.' });
  expect(report.layers.filter(({ state }) => state !== 'enforced').map(({ layer, state }) => [layer, state])).toEqual([
    ['launcher', 'missing'],
    ['apple_events', 'partly'],
    ['memory', 'missing'],
    ['processes', 'missing'],
    ['tree_kill', 'missing'],
  ]);
  expect(started.map(([program]) => program)).toEqual(['/usr/bin/sandbox-exec', '/bin/sh']);
});

test('what works inside is missing', async () => {
  const layers = await layersOf({ inside: [...NEEDED, 'keychain', 'connect'], outside: ['*'] });
  expect([layers.get('keychain'), layers.get('network'), layers.get('pasteboard')]).toEqual([
    'missing',
    'missing',
    'enforced',
  ]);
});

test('what fails outside as well proves nothing', async () => {
  const layers = await layersOf({ inside: NEEDED, outside: ['keychain'] });
  expect([layers.get('keychain'), layers.get('pasteboard'), layers.get('launchd')]).toEqual([
    'enforced',
    'partly',
    'partly',
  ]);
});

test('a sandbox in which nothing can be written is none to work in', async () => {
  expect((await layersOf({ inside: [], outside: ['*'] })).get('workspace')).toBe('missing');
});

test.each<[string, ProbeEnd]>([
  ['a profile that does not compile', { exitCode: 65, stdout: '' }],
  ['a program that is killed before its first instruction', { exitCode: undefined, stdout: '' }],
  ['a shell that ends half-way', { exitCode: 0, stdout: 'read_outside=no\n' }],
])('%s holds nothing', async (_what, end) => {
  const layers = await layersOf({ inside: NEEDED, outside: ['*'] }, end);
  expect([...layers.values()].filter((state) => state !== 'missing')).toEqual([]);
});

test('a sandbox-exec that only runs what it is given holds nothing', async () => {
  const place = makeProbePlace(tmpdir());
  const survey = { ...SURVEY, workspace: { root: place.workspace, gitDirectories: [] }, operatorHome: '/usr/share' };
  const context = { survey, place, port: 1, peer: process.pid, run: runPlainly };
  try {
    const { layers } = await probeSeatbelt(context);
    expect(layers.filter(({ state }) => state === 'enforced').map(({ layer }) => layer)).toEqual(['sandbox_exec']);
    const open = layers.filter(({ detail }) => detail.startsWith('A tool reaches')).map(({ layer }) => layer);
    expect(open).toEqual(expect.arrayContaining(['private_files', 'home', 'system_files', 'signals']));
  } finally {
    place.remove();
  }
});

/** What comes after `--`, as if it were no sandbox. */
function runPlainly(argv: readonly string[], { cwd, environment }: ProbeStart): Promise<ProbeEnd> {
  const [program = '', ...rest] = argv.slice(argv.lastIndexOf('--') + 1);
  const pairs = environment.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]);
  return new Promise((resolve) => {
    execFile(program, rest, { cwd, env: Object.fromEntries(pairs) }, (fault, stdout) => {
      resolve({ exitCode: fault === null ? 0 : 1, stdout });
    });
  });
}
