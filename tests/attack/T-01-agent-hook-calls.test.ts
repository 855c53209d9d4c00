// T-01, T-05, T-06, T-38, T-39, T-40, T-41: an agent whose hook was allowed one thing gets another one to run: it comes twice for a command,
// comes with a command of its own, comes for another one's, says itself what only a hook may say, or uses its own file tools
// for its hook's settings, for Palyra's home, and for files that run later. And it names another session each time.
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApprovalService, OutcomeKind, RunService } from '@palyra/api';
import { connect } from '@palyra/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HookedAgent, PALYRA, rewritten, run, startHookedAgent } from '../hooked-agent.ts';

let agent: HookedAgent;

beforeAll(async () => {
  agent = await startHookedAgent();
}, 60_000);

afterAll(() => agent[Symbol.asyncDispose]());

const shell = (command: string) => agent.say(agent.event('PreToolUse', 'Bash', { command }));
const inShell = (command: string) => run(['/bin/sh', '-c', command]);
/** As `palyra exec --call` does, without a program of its own for each. */
const collect = async (command: string) => {
  using client = await connect({ home: agent.palyrad.home.root, as: 'agent' });
  let stdout = '';
  const onOutput = ({ stream, data }: { readonly stream: string; readonly data: Uint8Array }) => {
    if (stream === 'stdout') stdout += Buffer.from(data).toString();
  };
  return await client.collect(idIn(command), { onOutput }).then(
    ({ outcome }) => ({ code: outcome.exit_code, stdout }),
    (error: { readonly code: string }) => ({ code: error.code, stdout }),
  );
};
const NOT_THERE = { code: 'gateway.call_not_found', stdout: '' };
const idIn = (command: string) => command.split(' ').at(-1) ?? '';
const refused = { code: 2, stdout: '' };

// One test: boxes that palyrad keeps ready would be left behind by each of several.
test('nothing runs but what was decided, once, and for whom it was decided', async () => {
  await using own = await startHookedAgent();
  const shared = agent;
  agent = own;
  try {
    await saysNothingToTheShell();
    await runsOnce();
    await bringsNothing();
    await isOwn();
    await findsNothing();
    expect(readFileSync(join(own.workspace, 'log'), 'utf8')).toBe('once\n');
  } finally {
    agent = shared;
  }
}, 120_000);

/** A command runs once, for whoever comes first, and as it was decided. */
async function runsOnce(): Promise<void> {
  const command = rewritten(await shell('echo once >> log; echo "$0 $#"; exit 3'));
  const [hook] = agent.hook;
  const label = 'echo_once_log_echo_0_exit_3';
  expect(command).toBe(`${hook} exec --for ${label} --home ${agent.palyrad.home.root} --call ${idIn(command)}`);
  // Its shell runs the one; `palyra exec --call` is there as before.
  const palyra = [process.execPath, '--conditions=palyra-source', PALYRA, 'exec'] as const;
  const byPalyra = run([...palyra, '--for', label, '--home', agent.palyrad.home.root, '--call', idIn(command)]);
  const all = await Promise.all([collect(command), collect(command), inShell(command), inShell(command), byPalyra]);
  expect(all.filter(({ stdout }) => stdout === '/bin/bash 0\n')).toMatchObject([{ code: 3 }]);
  expect(all.filter(({ code }) => code === 'gateway.call_not_found' || code === 248)).toHaveLength(4);
  expect(await collect(command)).toEqual(NOT_THERE);
  expect(readFileSync(join(agent.workspace, 'log'), 'utf8')).toBe('once\n');
}

/** Whoever comes brings no command of their own. */
async function bringsNothing(): Promise<void> {
  const command = rewritten(await shell('echo decided'));
  const more = ['-- sh -c "touch swapped"', '--env A=b --cwd /'];
  for (const said of await Promise.all(more.map((each) => inShell(`${command} ${each}`)))) {
    expect(said).toMatchObject({ code: 242, stdout: '' });
  }
  expect(await inShell(command)).toMatchObject({ code: 0, stdout: 'decided\n' });
}

/** The first words of its command are in the line that its own shell reads, outside of the box, and do nothing there. */
async function saysNothingToTheShell(): Promise<void> {
  const outside = join(agent.palyrad.root, 'by-its-shell');
  const tries = [
    `touch ${outside}`,
    `$(touch ${outside})`,
    `\`touch ${outside}\``,
    `'; touch ${outside} #`,
    `"\ntouch ${outside}\n"`,
  ];
  for (const attempt of tries) {
    const command = rewritten(await shell(`true ; ${attempt}`));
    await inShell(command);
    expect({ attempt, worked: existsSync(outside) }).toEqual({ attempt, worked: false });
  }
}

/** Another agent of this host does not come for it, and does not take it away. */
async function isOwn(): Promise<void> {
  const command = rewritten(await shell('echo mine'));
  const other = await agent.palyrad.letIn('other', 'agent');
  for (const who of [other, 'operator'] as const) {
    const pieces = agent.palyrad.client(RunService, who).collectCall({ callId: idIn(command) });
    await expect(pieces[Symbol.asyncIterator]().next()).rejects.toThrow('No such command waits');
  }
  expect(await collect(command)).toEqual({ code: 0, stdout: 'mine\n' });
}

test('what was not decided, or was refused, is not there to come for', async () => {
  const runs = agent.palyrad.client(RunService, 'local-agent');
  for (const callId of ['01M7K48D0SBA2350575B6HPHYE', '00000000000000000000000000']) {
    const pieces = runs.collectCall({ callId });
    await expect(pieces[Symbol.asyncIterator]().next()).rejects.toThrow('No such command waits');
  }
});

test('an agent does not say what only its hook may: that its own tool did something', async () => {
  const runs = agent.palyrad.client(RunService, 'local-agent');
  const { runId } = await runs.startRun({ workspace: agent.workspace });
  const input = { client: 'claude-code', tool: 'Write', paths: [join(agent.workspace, 'a')], arguments: '{}' };
  const proposal = { key: 'a', tool: 'agent.write', inputJson: JSON.stringify(input) };
  const { result } = await runs.callTool({ runId, proposal });
  expect(result?.outcome).toMatchObject({ kind: OutcomeKind.REFUSED, code: 'gateway.not_delegated' });
});

test('its own tools do not reach its hook’s settings, Palyra’s home or keys, by whichever name', async () => {
  const { home, root } = agent.palyrad;
  symlinkSync(home.root, join(agent.workspace, 'notes'));
  const userHome = process.env['HOME'] ?? root;
  for (const path of [join(home.root, 'hook'), 'notes/palyra.toml', join(userHome, '.claude/settings.json')]) {
    for (const tool of ['Read', 'Write', 'Edit']) {
      const said = await agent.say(agent.event('PreToolUse', tool, { file_path: path }));
      expect(said, `${tool} ${path}`).toMatchObject(refused);
      expect(said.stderr, `${tool} ${path}`).toContain('policy.forbidden');
    }
  }
});

test('a server that took our name and our tools’ names is somebody else’s, and asked about', async () => {
  const ours = agent.event('PreToolUse', 'mcp__palyra__palyra_process_run', { argv: ['true'] });
  const settings = join(agent.workspace, '.mcp.json');
  const serve = (command: string) =>
    writeFileSync(settings, JSON.stringify({ mcpServers: { palyra: { command, args: ['mcp', 'serve'] } } }));
  expect(await agent.say(ours, ['--patience', '5'])).toMatchObject({ code: 0 });
  serve(PALYRA);
  expect(await agent.say(ours, ['--patience', '5'])).toMatchObject({ code: 0 });
  serve('/opt/elsewhere/palyra');
  expect(await agent.say(ours, ['--patience', '1'])).toMatchObject(refused);
  writeFileSync(settings, '{"mcpServers": {"palyra": ');
  expect(await agent.say(ours, ['--patience', '1'])).toMatchObject(refused);
  rmSync(settings);
});

test('files that run later are a question, also behind a link of another name', async () => {
  mkdirSync(join(agent.workspace, '.git/hooks'), { recursive: true });
  writeFileSync(join(agent.workspace, '.git/hooks/pre-commit'), '');
  symlinkSync('.git/hooks/pre-commit', join(agent.workspace, 'harmless.txt'));
  symlinkSync('.git/hooks/post-commit', join(agent.workspace, 'not-there-yet.txt'));
  for (const path of ['.git/hooks/pre-commit', 'harmless.txt', 'not-there-yet.txt', '.claude/settings.json']) {
    const event = agent.event('PreToolUse', 'Write', { file_path: path, content: 'x' });
    expect(await agent.say(event, ['--patience', '1']), `file ${path}`).toMatchObject(refused);
  }
});

/** A command in the box finds neither the home nor a way to answer its own question. */
async function findsNothing(): Promise<void> {
  const { home } = agent.palyrad;
  const approvals = agent.palyrad.client(ApprovalService, 'operator');
  const waiting = agent.say(agent.event('PreToolUse', 'Teleport', {}));
  await expect.poll(async () => (await approvals.listApprovals({})).approvals.length).toBe(1);
  const tries = `cat ${home.root}/hook; ls ${home.identity}; ${PALYRA} approve --home ${home.root}`;
  const said = await collect(rewritten(await shell(tries)));
  expect(said.stdout).toBe('');
  expect(said.code).not.toBe(0);
  const { approvals: open } = await approvals.listApprovals({});
  expect(open).toMatchObject([{ state: 'pending', votes: 0 }]);
  agent.palyrad.child.kill('SIGTERM');
  expect(await waiting).toMatchObject(refused);
}

test('a session that nobody knows is not begun by a report, and none has a name of megabytes', async () => {
  const operator = agent.palyrad.client(RunService, 'operator');
  const before = (await operator.listRuns({})).runs.length;
  const report = (session: string) =>
    agent.say(agent.event('PostToolUse', 'Read', { file_path: 'a' }, { session_id: session, tool_response: '' }));
  for (const session of ['another', 'and another']) expect(await report(session)).toMatchObject({ code: 0 });
  expect((await operator.listRuns({})).runs).toHaveLength(before);
  expect(await report('x'.repeat(4_000_000))).toMatchObject(refused);
});
