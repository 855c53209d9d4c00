// T-58: what a person has forbidden in an agent's own settings, or wants to be asked about, runs because our hook gave the agent
// another command than the one that the rule means.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ApprovalService, JournalService } from '@palyra/api';
import { findHook } from '@palyra/sandbox';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type HookedAgent, PALYRA, rewritten, run, type Said, startHookedAgent } from '../hooked-agent.ts';

let agent: HookedAgent;

beforeAll(async () => {
  agent = await startHookedAgent({
    // Beside Palyra's home: that of a person.
    environment: ({ root }) => ({ ...process.env, HOME: join(dirname(root), 'ada') }),
  });
}, 60_000);

afterAll(() => agent[Symbol.asyncDispose]());

const home = () => join(agent.palyrad.root, 'ada');
afterEach(() => {
  for (const place of ['.claude', '.codex', '.cursor', '.gemini']) {
    for (const below of [home(), agent.workspace]) rmSync(join(below, place), { recursive: true, force: true });
  }
});

function settle(below: string, path: string, text: unknown): void {
  mkdirSync(dirname(join(below, path)), { recursive: true });
  writeFileSync(join(below, path), typeof text === 'string' ? text : JSON.stringify(text));
}

const shell = (command: string, cwd = agent.workspace): Promise<Said> =>
  agent.say(agent.event('PreToolUse', 'Bash', { command }, { cwd }));

function asking(client: string, message: object): Promise<Said> {
  const { root } = agent.palyrad.home;
  const argv = [findHook() ?? '', client, '--home', root, '--palyra', PALYRA, '--patience', '60'] as const;
  return run(argv, JSON.stringify({ cwd: agent.workspace, session_id: 'one', conversation_id: 'one', ...message }));
}

const inCodex = (command: string) =>
  asking('codex', { hook_event_name: 'PreToolUse', tool_name: 'Bash', tool_input: { command } });
const inCursor = (command: string) =>
  asking('cursor', { hook_event_name: 'preToolUse', tool_name: 'Shell', tool_input: { command } });
const inGemini = (command: string, more: object = {}, place: object = {}) =>
  asking('gemini', {
    hook_event_name: 'BeforeTool',
    tool_name: 'run_shell_command',
    tool_input: { command, ...more },
    ...place,
  });

async function refusedByRules(): Promise<number> {
  const { entries } = await agent.palyrad.client(JournalService, 'operator').queryEntries({ limit: 1000 });
  return entries.filter(({ kind, dataJson }) => kind === 'outcome' && dataJson.includes('gateway.forbidden_by_user'))
    .length;
}

async function pendingQuestions(): Promise<number> {
  return (await agent.palyrad.client(ApprovalService, 'operator').listApprovals({})).approvals.length;
}

test('without a rule against it a command is run in the box, so that what follows proves something', async () => {
  settle(home(), '.claude/settings.json', { permissions: { allow: ['Bash(touch:*)'], deny: ['Bash(rm:*)'] } });
  const said = await shell('touch made');
  expect(said).toMatchObject({ code: 0 });
  expect(await run(['/bin/sh', '-c', rewritten(said)])).toMatchObject({ code: 0 });
  expect(readdirSync(agent.workspace)).toContain('made');
});

test.each([
  ['the user', 'home', '.claude/settings.json'],
  ['the project', 'work', '.claude/settings.json'],
  ['the user, for this project', 'work', '.claude/settings.local.json'],
])('what a rule of %s denies is not handed over to be run, however it is written', async (_whose, where, path) => {
  settle(where === 'home' ? home() : agent.workspace, path, { permissions: { deny: ['Bash(rm:*)'] } });
  mkdirSync(join(agent.workspace, 'sub'), { recursive: true });
  const before = await refusedByRules();
  for (const command of ['rm made', 'true && /bin/rm made', "bash -c 'rm made'"]) {
    const said = await shell(command, join(agent.workspace, 'sub'));
    expect(said).toMatchObject({ code: 2, stdout: '' });
    expect(said.stderr).toContain('A rule of the user in Claude Code forbids this: Bash(rm:*)');
  }
  // SECURITY: T-32 — each is on record, attested as not executed. Nobody was asked about it, and nothing waits to be come for.
  expect(await refusedByRules()).toBe(before + 3);
  expect(await pendingQuestions()).toBe(0);
});

test('what a rule asks about is asked about by the agent, which shows the command that it means', async () => {
  settle(home(), '.claude/settings.json', { permissions: { ask: ['Bash(git push *)'] } });
  const { code, stdout } = await shell('git push origin main');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    hookSpecificOutput: {
      permissionDecision: 'ask',
      permissionDecisionReason: expect.stringMatching(/git push origin main .*Bash\(git push \*\)/),
      updatedInput: { command: expect.stringContaining('--call') },
    },
  });
  // Which program it starts is not known.
  expect(JSON.parse((await shell('$GIT push')).stdout)).toMatchObject({
    hookSpecificOutput: { permissionDecision: 'ask' },
  });
});

test('rules that cannot be read are not taken for none, and count from the moment they are there', async () => {
  settle(home(), '.claude/settings.json', '{ "permissions": { "deny": ["Bash(rm:*)"] ');
  expect(await shell('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
  settle(home(), '.claude/settings.json', { permissions: { deny: ['Bash(ls:*)'] } });
  expect(await shell('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('Bash(ls:*)') });
  settle(home(), '.claude/settings.json', {});
  expect(await shell('ls')).toMatchObject({ code: 0 });
});

test('the same holds for Codex, which lets no hook ask: what its user wants to be asked about does not run', async () => {
  expect(await inCodex('ls')).toMatchObject({ code: 0, stdout: expect.stringContaining('--call') });
  const forbidden = 'prefix_rule(pattern = ["rm"], decision = "forbidden")\n';
  settle(
    home(),
    '.codex/rules/mine.rules',
    `${forbidden}prefix_rule(pattern = ["git", "push"], decision = "prompt")\n`,
  );
  expect(await inCodex('rm made')).toMatchObject({ code: 2, stdout: '' });
  expect(await inCodex('git push')).toMatchObject({ code: 2, stderr: expect.stringContaining('lets no hook ask') });
  expect(await inCodex('git status')).toMatchObject({ code: 0, stdout: expect.stringContaining('--call') });
  settle(agent.workspace, '.codex/rules/odd.rules', 'NO = "forbidden"\nprefix_rule(pattern = ["ls"], decision = NO)\n');
  expect(await inCodex('ls')).toMatchObject({ code: 2, stdout: '' });
});

test('and for Cursor and Gemini', async () => {
  expect(await inCursor('rm made')).toMatchObject({ code: 0, stdout: expect.stringContaining('--call') });
  settle(home(), '.cursor/cli-config.json', { permissions: { allow: [], deny: ['Shell(rm)'] } });
  expect(await inCursor('rm made')).toMatchObject({ code: 2 });
  const rule = (prefix: string, decision: string) =>
    `[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "${prefix}"\ndecision = "${decision}"\n`;
  settle(home(), '.gemini/policies/mine.toml', rule('rm', 'deny') + rule('git push', 'ask_user'));
  expect(await inGemini('rm made')).toMatchObject({ code: 2, stdout: '' });
  expect(JSON.parse((await inGemini('git push')).stdout)).toMatchObject({ decision: 'ask' });
  expect(JSON.parse((await inGemini('ls')).stdout)).not.toHaveProperty('decision');
});

test('a directory that the model names does not lead away from the rules where the agent was started', async () => {
  const cwd = join(agent.workspace, 'part');
  settle(cwd, '.gemini/settings.json', { tools: { exclude: ['run_shell_command(rm)'] } });
  expect(await inGemini('rm made', {}, { cwd })).toMatchObject({ code: 2 });
  expect(await inGemini('rm made', { dir_path: agent.workspace }, { cwd })).toMatchObject({ code: 2 });
  expect(await inGemini('ls', { dir_path: agent.workspace }, { cwd })).toMatchObject({ code: 0 });
  rmSync(cwd, { recursive: true });
});

test('a pipe for settings, and more of them than anybody has, are settings that cannot be read', async () => {
  mkdirSync(join(agent.workspace, '.claude'));
  execFileSync('mkfifo', [join(agent.workspace, '.claude/settings.json')]);
  expect(await shell('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
  for (let at = 0; at < 65; at += 1) settle(agent.workspace, `.codex/rules/${at}.rules`, '');
  expect(await inCodex('ls')).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') });
});

test('rules of where Codex was started hold for a command that the model has run elsewhere', async () => {
  const [started, elsewhere] = ['started', 'elsewhere'].map((name) => join(agent.workspace, name));
  for (const directory of [started, elsewhere]) mkdirSync(directory ?? '', { recursive: true });
  settle(started ?? '', '.codex/rules/mine.rules', 'prefix_rule(pattern = ["touch"], decision = "forbidden")\n');
  // As Codex does it: its hook is where the session is, and the message says where the command would be.
  const { root } = agent.palyrad.home;
  const hook = [findHook() ?? '', 'codex', '--home', root, '--palyra', PALYRA, '--patience', '60'];
  const message = {
    hook_event_name: 'PreToolUse',
    session_id: 'one',
    cwd: elsewhere,
    tool_name: 'Bash',
    tool_input: { command: 'touch made' },
  };
  const from = (directory = '') => run(['/usr/bin/env', '-C', directory, ...hook], JSON.stringify(message));
  expect(await from(elsewhere)).toMatchObject({ code: 0, stdout: expect.stringContaining('--call') });
  const said = await from(started);
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(said.stderr).toContain('A rule of the user in Codex forbids this: prefix_rule([["touch"]])');
});
