// T-58: a hook that answers, in settings under which its agent does not ask it.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findClient } from '@palyra/agents';
import type { JsonObject } from '@palyra/primitives';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClientCoverage, probeHooks } from '../../apps/cli/src/clients/probe-hooks.ts';
import type { CommandContext } from '../../apps/cli/src/command.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { runInProcess } from './cli-in-process.ts';

/** Where each has its hooks, and what it says before a tool. */
const CLIENTS = [
  { client: 'claude-code', file: '.claude/settings.json', before: 'PreToolUse' },
  { client: 'cursor', file: '.cursor/hooks.json', before: 'preToolUse' },
  { client: 'gemini', file: '.gemini/settings.json', before: 'BeforeTool' },
  { client: 'goose', file: '.agents/plugins/palyra/hooks/hooks.json', before: 'PreToolUse' },
] as const;

type Hooks = Record<string, readonly JsonObject[]>;

let palyrad: PalyradProcess;
let person: string;
/** Where the doctor is asked, if not in the home of the person. */
let here: string | undefined;

beforeAll(async () => {
  palyrad = await startPalyrad();
  person = dirname(palyrad.home.root);
  await install();
}, 60_000);
afterAll(() => palyrad[Symbol.asyncDispose]());

const variables = () => ({ PATH: '/usr/bin:/bin', HOME: person, PALYRA_HOME: palyrad.home.root });

async function install(): Promise<void> {
  for (const { client } of CLIENTS) {
    const args = ['install', client, '--yes'];
    expect(await runInProcess({ args, cwd: person, variables: variables(), input: '' })).toMatchObject({ exit: 0 });
  }
}

function probe() {
  const context: Partial<CommandContext> = {
    home: undefined,
    variables: variables(),
    userHome: () => person,
    workingDirectory: () => here ?? person,
    signal: new AbortController().signal,
  };
  return probeHooks(context as CommandContext);
}

/** Written again by a program with a layout of its own. */
function change(how: (hooks: Hooks, before: string) => Hooks): void {
  for (const { file, before } of CLIENTS) {
    const path = join(person, file);
    const settings = JSON.parse(readFileSync(path, 'utf8')) as { readonly hooks: Hooks };
    writeFileSync(path, JSON.stringify({ ...settings, hooks: how(settings.hooks, before) }, null, '\t'));
  }
}

const ALIVE = CLIENTS.map(({ client }) => ({
  client,
  coverage: 'hooked',
  state: 'alive',
  says: 'palyrad answered its hook.',
}));
const DEAD = CLIENTS.map(({ client }) => ({
  client,
  coverage: 'hooked',
  state: 'dead',
  says: 'palyrad answered its hook, but its settings are not as palyra install leaves them: tools may run, and nobody is asked.',
  fix: `palyra install ${client}`,
}));

test('a hook as it was installed is alive, whatever others have before it, behind it or in its group', async () => {
  expect(await probe()).toEqual(ALIVE);
  const theirs = { type: 'command', command: './bell.sh' };
  change((hooks) => ({
    ...Object.fromEntries(
      Object.entries(hooks).map(([event, entries]) => {
        const shared = entries.map((entry) =>
          Array.isArray(entry['hooks']) ? { ...entry, hooks: [theirs, ...entry['hooks']] } : entry,
        );
        return [event, [{ ...theirs }, ...shared, { ...theirs }]];
      }),
    ),
    Stop: [theirs],
  }));
  expect(await probe()).toEqual(ALIVE);
});

test.each<[string, Parameters<typeof change>[0]]>([
  ['is not there before a tool, only after', (hooks, before) => ({ ...hooks, [before]: [] })],
  [
    'is there for some tools alone',
    (hooks, before) => ({ ...hooks, [before]: (hooks[before] ?? []).map((entry) => ({ ...entry, matcher: 'Bash' })) }),
  ],
  [
    'is given up after a second',
    (hooks) => JSON.parse(JSON.stringify(hooks).replaceAll(/"timeout":\d+/g, '"timeout":1')) as Hooks,
  ],
])('SECURITY: T-58 — a hook that %s is not, and installing it again mends that', async (_what, how) => {
  change(how);
  expect(await probe()).toEqual(DEAD);
  await install();
  expect(await probe()).toEqual(ALIVE);
});

/** Whether the doctor calls them alive, with these settings in this file. */
async function withSettings(path: string, text: string): Promise<readonly ClientCoverage[]> {
  const before = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  try {
    return await probe();
  } finally {
    if (before === undefined) rmSync(path);
    else writeFileSync(path, before);
  }
}

describe('SECURITY: T-58 — a hook whose agent has all hooks switched off is not alive', () => {
  const others = (name: string) => ALIVE.filter(({ client }) => client !== name);
  const project = () => join(person, 'projects/one');

  test.each([
    ['claude-code', '.claude/settings.json', 'disableAllHooks', { disableAllHooks: true }],
    ['claude-code', '.claude/settings.local.json', 'disableAllHooks', { disableAllHooks: true }],
    ['claude-code', 'projects/one/.claude/settings.json', 'disableAllHooks', { disableAllHooks: true }],
    ['claude-code', 'projects/one/.claude/settings.local.json', 'disableAllHooks', { disableAllHooks: 1 }],
    ['claude-code', 'projects/.claude/settings.json', 'disableAllHooks', { disableAllHooks: true }],
    ['gemini', 'projects/one/.gemini/settings.json', 'hooksConfig.enabled', { hooksConfig: { enabled: false } }],
    ['gemini', '.gemini/settings.json', 'hooks.disabled', { hooks: { disabled: ['palyra-hook'] } }],
  ])('%s, in %s', async (client, file, why, part) => {
    here = project();
    mkdirSync(here, { recursive: true });
    const path = join(person, file);
    const settings = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly hooks?: object }) : {};
    const hooks = 'hooks' in part ? { hooks: { ...settings.hooks, ...part.hooks } } : {};
    const found = await withSettings(path, JSON.stringify({ ...settings, ...part, ...hooks }));
    expect(found.filter((each) => each.client !== client)).toEqual(others(client));
    const { title } = findClient(client).profile;
    expect(found.find((each) => each.client === client)).toEqual({
      client,
      coverage: 'hooked',
      state: 'dead',
      says: `${title} does not run its hook, for ${why} in ${path}: its tools run, and nobody is asked.`,
      fix: `Take ${why} out of ${path}, then palyra doctor.`,
    });
  });

  test('and one whose settings may have that, for nobody can read them', async () => {
    here = project();
    const found = await withSettings(join(here, '.claude/settings.json'), '{ "disableAllHooks": true, ');
    expect(found.find(({ client }) => client === 'claude-code')).toMatchObject({ state: 'dead' });
    const on = await withSettings(join(here, '.claude/settings.json'), '{ "disableAllHooks": false }');
    expect(on).toEqual(ALIVE);
  });
});

test('a palyrad that says nothing does not hold the doctor for as long as a question lives', async () => {
  palyrad.child.kill('SIGSTOP');
  try {
    expect(await probe()).toEqual(
      CLIENTS.map(({ client }) => ({
        client,
        coverage: 'hooked',
        state: 'dead',
        says: 'Its hook had no answer from palyrad within 10 seconds.',
        fix: 'palyra down, then palyra up',
      })),
    );
  } finally {
    palyrad.child.kill('SIGCONT');
  }
}, 40_000);
