import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createProgramFiles } from '../guard/program-files.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../profile.ts';
import type { HostSurvey } from '../survey/host-survey.ts';
import { hostSurveyFiles } from '../survey/survey-files.ts';
import type { Binding } from './binding.ts';
import { createBinder, type PlannedCommand } from './create-binder.ts';

let place: string;
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'palyra-binder-')));
  for (const name of ['system/bin', 'work/dir']) mkdirSync(join(place, name), { recursive: true });
});
afterEach(() => rmSync(place, { recursive: true }));

const at = (name: string) => join(place, name);
function put(name: string, text: string): string {
  writeFileSync(at(name), text);
  chmodSync(at(name), 0o755);
  return at(name);
}

/** What lies below `system` is root's, whoever runs this test. */
const files: typeof hostSurveyFiles = {
  ...hostSurveyFiles,
  lstat(path) {
    const facts = hostSurveyFiles.lstat(path);
    const isRoots = !path.startsWith(at('work'));
    return facts === undefined || !isRoots ? facts : { ...facts, uid: 0, mode: 0o755 };
  },
};

const binder = () =>
  createBinder({
    launcher: { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 },
    groups: [],
    files,
    programsOn: (path) => createProgramFiles(path.split(':')),
  });

function planned(argv: readonly string[], changes: Partial<HostSurvey> = {}, tier: 'B' | 'C' = 'C'): PlannedCommand {
  const profile = {
    tier,
    workspace: { root: at('work'), access: 'read-write' },
    environment: ['BASH_ENV', 'CI'],
    limits: DEFAULT_LIMITS,
  } as unknown as SandboxProfile;
  const survey = {
    identity: undefined,
    idmapWorkspace: false,
    workspace: { root: at('work'), gitDirectories: [] },
    paths: { readOnly: [], writable: [] },
    systemRoots: [{ kind: 'directory', path: at('system') }],
    systemFiles: [],
    toolchains: { path: at('system/bin'), readOnly: [], environment: {} },
    masked: [],
    bound: [],
    program: argv[0],
    ...changes,
  } as unknown as HostSurvey;
  return { command: { argv }, profile, survey };
}

async function approve(one: ReturnType<typeof binder>, what: PlannedCommand): Promise<Binding> {
  const answer = await one.bind(what);
  if (answer.kind === 'refused') throw new Error(JSON.stringify(answer));
  return answer;
}

const filesOf = ({ files: bound }: Binding) =>
  bound.map(({ path, role, how }) => [path.slice(place.length + 1), role, how]);

test("a program of root's runs where it is, and is looked at again when the word is given", async () => {
  const tool = put('system/bin/tool', 'ELF');
  utimesSync(tool, 1, 1);
  const one = binder();
  const bound = await approve(one, planned([tool]));
  expect(filesOf(bound)).toEqual([['system/bin/tool', 'program', 'in_place']]);

  const prepared = await one.prepare(planned([tool]), bound);
  if (prepared.kind === 'refused') throw new Error(prepared.message);
  expect(prepared.planned.survey).toMatchObject({
    program: tool,
    placed: { files: [], links: [], inPlace: [{ path: tool }] },
  });
  expect(prepared.recheck()).toBeUndefined();
  writeFileSync(tool, 'ELF, another');
  expect(prepared.recheck()).toMatchObject({ kind: 'refused', code: 'sandbox.changed_since_approved' });
  expect(await one.prepare(planned([tool]), bound)).toMatchObject({ code: 'sandbox.changed_since_approved' });
});

test('the same program is copied once a tool of any profile may write there', async () => {
  const tool = put('system/bin/tool', 'ELF');
  const one = binder();
  const bound = await approve(one, planned([tool]));
  one.note(planned([tool], { workspace: { root: at('system'), gitDirectories: [] } }).survey);
  const prepared = await one.prepare(planned([tool]), bound);
  expect(prepared.kind === 'prepared' && filesOf(prepared.binding)).toEqual([['system/bin/tool', 'program', 'copied']]);
});

test('a script is copied with the names beside it, and its interpreters are named in place of being looked up', async () => {
  const shell = put('system/bin/sh', 'ELF');
  put('system/bin/env', 'ELF');
  const script = put('work/x.sh', `#!${at('system/bin/env')} sh\n`);
  const one = binder();
  const what = planned([script, 'argument']);
  const bound = await approve(one, what);
  expect(filesOf(bound)).toEqual([
    ['work/x.sh', 'program', 'copied'],
    ['system/bin/env', 'interpreter', 'in_place'],
    ['system/bin/sh', 'interpreter', 'in_place'],
  ]);
  const prepared = await one.prepare(what, bound);
  if (prepared.kind === 'refused') throw new Error(prepared.message);
  const { command, survey } = prepared.planned;
  expect(command.argv).toEqual(['sh', '/run/palyra-bound/0/x.sh', 'argument']);
  expect(survey.program).toBe(shell);
  expect(survey.placed.files.map((file) => [file.at, Buffer.from(file.bytes).toString()])).toEqual([
    ['/run/palyra-bound/0/x.sh', `#!${at('system/bin/env')} sh\n`],
  ]);
  expect(survey.placed.links).toEqual([{ at: '/run/palyra-bound/0/dir', target: at('work/dir') }]);
});

test('a way through a directory that may become a link is not taken a second time', async () => {
  put('system/bin/sh', 'ELF');
  put('system/x.sh', 'true\n');
  const what = planned([at('system/bin/sh'), 'dir/../../system/x.sh']);
  const one = binder();
  const bound = await approve(one, what);
  expect(filesOf(bound)).toContainEqual(['system/x.sh', 'script', 'in_place']);
  const prepared = await one.prepare(what, bound);
  expect(prepared.kind === 'prepared' && prepared.planned.command.argv[1]).toBe(at('system/x.sh'));

  mkdirSync(at('work/a/b'), { recursive: true });
  put('work/a/x.sh', 'false\n');
  symlinkSync('a/b', at('work/link'));
  const [, script] = (await approve(one, planned([at('system/bin/sh'), 'link/../x.sh']))).files;
  expect(script?.path).toBe(at('work/a/x.sh'));
});

test("a link of the agent's to a program of root's is not gone a second time either", async () => {
  const tool = put('system/bin/tool', 'ELF');
  symlinkSync(tool, at('work/mine'));
  symlinkSync('tool', at('system/bin/alias'));
  const one = binder();
  for (const [called, runs] of [
    ['work/mine', 'system/bin/tool'],
    ['system/bin/alias', 'system/bin/alias'],
  ] as const) {
    const what = planned([at(called)]);
    const prepared = await one.prepare(what, await approve(one, what));
    expect(prepared.kind === 'prepared' && prepared.planned.survey.program).toBe(at(runs));
    expect(prepared.kind === 'prepared' && prepared.planned.command.argv).toEqual([at(called)]);
    expect(prepared.kind === 'prepared' && filesOf(prepared.binding)).toEqual([
      ['system/bin/tool', 'program', 'in_place'],
    ]);
  }
});

test('what a mask hides, or no mount shows, is not there', async () => {
  put('system/bin/sh', 'ELF');
  const script = put('work/x.sh', 'true\n');
  const notFound = { kind: 'refused', code: 'sandbox.executable_not_found' };
  expect(await binder().bind(planned([script], { masked: [{ path: script, kind: 'file' }] }))).toMatchObject(notFound);
  expect(await binder().bind(planned([put('outside', 'ELF')]))).toMatchObject(notFound);
  const operand = await approve(binder(), planned([at('system/bin/sh'), at('outside')]));
  expect(operand.unbound[0]).toMatchObject({ what: 'operand' });
});

test('what is not bound is said, variables that name code among it', async () => {
  const script = put('work/x.sh', `#!${put('system/bin/sh', 'ELF')}\n`);
  const { command, ...rest } = planned([script]);
  const withVariables = { ...rest, command: { ...command, environment: { BASH_ENV: 'x', CI: '1', ENV: 'y' } } };
  const { unbound } = await approve(binder(), withVariables);
  expect(unbound.map(({ what }) => what)).toEqual(['imports', 'libraries', 'children', 'settings', 'environment']);
});

test.each([
  ['too_large', 'sandbox.not_bindable'],
  ['not_executable', 'sandbox.executable_not_found'],
  ['odd', 'sandbox.not_bindable'],
  ['nested', 'sandbox.not_bindable'],
])('a program that is %s is refused', async (name, code) => {
  const path = put(`work/${name}`, name === 'odd' ? '#!/bin/sh\r\n' : `#!${at('work/nested')}\n`);
  if (name === 'too_large') truncateSync(path, 128 * 1024 * 1024 + 1);
  if (name === 'not_executable') chmodSync(path, 0o644);
  expect(await binder().bind(planned([path]))).toMatchObject({ kind: 'refused', code });
});
