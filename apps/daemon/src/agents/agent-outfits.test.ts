import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findClient } from '@palyra/agents';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { outfitFor, shownInBox } from './agent-outfits.ts';
import { collectCommand } from './collect-command.ts';
import { createForeignServers } from './foreign-server.ts';
import { ownPrograms, startOf } from './own-programs.ts';

let userHome = '';
beforeEach(() => {
  userHome = mkdtempSync(join(tmpdir(), 'outfit-'));
  mkdirSync(join(userHome, '.claude'));
});
afterEach(() => rmSync(userHome, { recursive: true }));

const outfit = (name: string) => outfitFor(name, { userHome, approvalSeconds: 1800 });
const settingsOf = () => outfit('claude-code')?.home.files.find(({ path }) => path === '.claude/settings.json')?.text;

test('the hooks of a box ask by its listener, and wait longer than a human is asked', () => {
  const { home, environment } = outfit('claude-code') ?? {};
  const [managed] = home?.settings ?? [];
  expect(managed?.path).toBe('/etc/claude-code/managed-settings.json');
  expect(managed?.text).toMatch(
    /palyra-hook claude-code --listener 127\.0\.0\.1:3128 --palyra \S+ --patience 1830 \|\| exit 2/,
  );
  expect(managed?.text).toContain('"timeout": 1860');
  expect(environment).toEqual({ PALYRA_LISTENER: '127.0.0.1:3128' });
});

test('a profile that there is not has none, and any other program has nothing but the way to palyrad', () => {
  expect(outfit('nobody')).toBeUndefined();
  expect(outfit('generic')).toMatchObject({ hosts: [], home: { writable: [], readOnly: [], files: [], settings: [] } });
});

test('the user’s settings are shown without the hook that is for outside, and not at all when they cannot be read', () => {
  expect(settingsOf()).toBeUndefined();
  const place = join(userHome, '.claude/settings.json');
  const [edit] = findClient('claude-code').install.edits({
    hookCommand: '/opt/palyra-hook claude-code --home /x || exit 2',
    timeoutSeconds: 60,
    mcpCommand: ['palyra'],
  });
  writeFileSync(place, edit?.add('{"model":"mine"}') ?? '');
  expect(JSON.parse(settingsOf() ?? '')).toEqual({ model: 'mine' });
  writeFileSync(place, '{ // not JSON');
  expect(settingsOf()).toBe('{}\n');
  rmSync(place);
  symlinkSync('/etc/passwd', place);
  expect(settingsOf()).toBeUndefined();
});

test('a server that palyra install put into settings is nobody’s else in a box, where it is not shown', async () => {
  const mcp = join(userHome, '.cursor/mcp.json');
  mkdirSync(join(userHome, '.cursor'));
  const installed = findClient('cursor').install.edits({
    hookCommand: '',
    timeoutSeconds: 0,
    mcpCommand: ['/another/installation/palyra', 'mcp', 'serve'],
  });
  writeFileSync(mcp, installed.find(({ path }) => path === '.cursor/mcp.json')?.add('{}') ?? '');
  const question = { client: 'cursor', program: '/opt/palyra', cwd: userHome, root: userHome };
  const inBox = createForeignServers({ userHome, asShown: shownInBox });
  const nowhere = join(userHome, 'nowhere');
  const elsewhere = { ...question, cwd: join(nowhere, 'below'), root: nowhere };
  expect(await createForeignServers({ userHome }).hasOurName(elsewhere)).toBe(true);
  expect(await inBox.hasOurName(elsewhere)).toBe(false);
  // SECURITY: T-38 — of a workspace nothing is taken out, and what is too long to be cleaned is shown as it is.
  mkdirSync(join(userHome, 'project/.cursor'), { recursive: true });
  copyFileSync(mcp, join(userHome, 'project/.cursor/mcp.json'));
  const project = join(userHome, 'project');
  expect(await inBox.hasOurName({ ...question, cwd: join(project, 'below'), root: project })).toBe(true);
  expect(await inBox.hasOurName(question)).toBe(true);
  writeFileSync(mcp, readFileSync(mcp, 'utf8') + ' '.repeat(1024 * 1024));
  expect(await inBox.hasOurName(elsewhere)).toBe(true);
});

test('in a box a command is collected by the listener, and nothing in the line has to be quoted', () => {
  const home = { listener: '127.0.0.1:3128' };
  const line = collectCommand('01ABC', { start: ['/opt/palyra'], home });
  expect(line).toBe('env PALYRA_LISTENER=127.0.0.1:3128 /opt/palyra exec --call 01ABC');
  expect(collectCommand('01ABC', { start: ['/opt/a b'], home })).toBeUndefined();
  expect(collectCommand('01ABC', { start: ['/opt/palyra'], home: { listener: '$(evil)' } })).toBeUndefined();
});

test('where our hook is, it comes for the command, if its path can be written as it is', () => {
  const [start, collector] = [['/opt/palyra'], '/opt/palyra-hook'];
  const line = (places: Omit<Parameters<typeof collectCommand>[1], 'start'>) =>
    collectCommand('01ABC', { start, ...places });
  expect(line({ collector, home: '/h' })).toBe('/opt/palyra-hook exec --home /h --call 01ABC');
  expect(line({ collector, home: { listener: '127.0.0.1:3128' } })).toBe(
    '/opt/palyra-hook exec --listener 127.0.0.1:3128 --call 01ABC',
  );
  expect(line({ collector: '/opt/a b/palyra-hook', home: '/h' })).toBe('/opt/palyra exec --home /h --call 01ABC');
  expect(line({ collector, home: '/h; evil' })).toBeUndefined();
});

test('before the id it says what the command was, for people, in characters that mean nothing to a shell', () => {
  const places = { start: ['/opt/palyra'], collector: '/opt/palyra-hook', home: '/h' };
  const line = (command: string) => collectCommand('01ABC', places, command);
  const bare = '/opt/palyra-hook exec --home /h --call 01ABC';
  const told = (label: string) => `/opt/palyra-hook exec --for ${label} --home /h --call 01ABC`;
  expect(line('npm test')).toBe(told('npm_test'));
  expect(line("cat 'a b' | grep -n $(id) > ~/x; rm -rf /\n`evil`")).toBe(told('cat_a_b_grep_-n_id_/x_rm_-rf_/_evil'));
  expect(line(' -x; --call 01DEF')).toBe(told('x_--call_01DEF'));
  expect(line('x'.repeat(100_000))).toBe(told('x'.repeat(72)));
  for (const nothing of ['', ' \n', '$(("', '~', '=', '\u202e', '-']) expect(line(nothing)).toBe(bare);
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (command) => {
      expect(line(command)).toMatch(
        /^\S+ exec(?: --for [A-Za-z0-9][A-Za-z0-9_@%+=:,./-]{0,71})? --home \/h --call 01ABC$/,
      );
    }),
  );
});

test('our own palyra is started on the Node that palyrad has, with its hook; somebody else’s as it is', () => {
  const own = ownPrograms()?.palyra ?? '';
  expect(startOf(own)).toEqual({
    start: [process.execPath, '--conditions=palyra-source', own],
    collector: expect.stringMatching(/\/palyra-hook$/),
  });
  expect(startOf('/opt/palyra')).toEqual({ start: ['/opt/palyra'] });
});
