// `palyra wrap` as a newcomer types it, with a stand-in for Claude Code that runs the hooks of its settings and obeys them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PALYRA } from '../hooked-agent.ts';
import { layScript, type Told, toldBy } from '../wrapped-agent.ts';
import { type Ended, type Newcomer, newcomer } from './palyra-process.ts';

const PATIENT = 240_000;
const OWN_HOST = 'api.anthropic.com:443';

interface Logged {
  readonly runs: readonly { readonly calls: readonly { readonly tool: string }[] }[];
}

let here: Newcomer;
let first: Ended;
let told: readonly Told[];

/** Through the proxy, by name; what it says of the connection is all that is wanted. */
const connecting = `curl -sv --max-time 20 https://${OWN_HOST}/ 2>&1 | grep -io 'egress\\.[a-z_]*' | head -1`;

beforeAll(async () => {
  here = newcomer();
  await here.palyra(['init']);
  // Its own host leads nowhere but here, where nothing may be reached: nothing of this test goes to any network.
  for (const [name, value] of [
    ['egress.unlisted', 'deny'],
    ['egress.hosts', 'api.anthropic.com=127.0.0.1'],
  ] as const) {
    await here.palyra(['config', 'set', name, value]);
  }
  await here.palyra(['workspace', 'add', here.workspace]);
  const state = join(here.person, '.claude');
  mkdirSync(state);
  writeFileSync(join(state, '.credentials.json'), 'old token', { mode: 0o600 });
  writeFileSync(
    join(state, 'settings.json'),
    JSON.stringify({ model: 'mine', hooks: { PreToolUse: [palyrasHook()] } }),
  );
  writeFileSync(join(here.person, '.claude.json'), '{"mcpServers":{}}', { mode: 0o600 });
  const words = layScript(here, [
    { say: 'said on stdout\n' },
    { tool: 'Bash', input: { command: 'echo beside it; pwd; ls -A ~; printenv PALYRA_LISTENER; exit 3' } },
    { tool: 'Write', input: { file_path: join(here.workspace, 'by-tool.txt'), content: 'x' } },
    { tool: 'Bash', input: { command: connecting } },
    { own: connecting },
    { read: '~/.claude/settings.json' },
    { own: `echo 'new token' > ~/.claude/.credentials.json; echo lost > ~/.claude.json` },
    {
      mcp: {
        command: [PALYRA, 'mcp', 'serve'],
        call: { name: 'palyra_fs_write', arguments: { path: 'by-mcp.txt', content: 'over MCP' } },
      },
    },
  ]);
  first = await here.palyra(['wrap', '--json', '--profile', 'claude-code', '--', ...words]);
  told = toldBy(here);
}, PATIENT);
afterAll(() => here[Symbol.asyncDispose]());

function palyrasHook() {
  return { matcher: '*', hooks: [{ type: 'command', command: 'palyra-hook claude-code --home /x || exit 2' }] };
}

describe('a wrapped agent', () => {
  test('exits as it does, and its session is told: calls, refusals, files, the journal verified, how to undo', () => {
    expect(first).toMatchObject({ exit: 7 });
    const summary = JSON.parse(first.out) as Record<string, unknown>;
    expect(summary).toMatchObject({
      profile: 'claude-code',
      coverage: 'wrapped',
      calls: 4,
      questions: 0,
      refusals: 0,
      verification: { verdict: 'sound' },
      undo: `palyra undo ${summary['run_id'] as string}`,
      agent: {
        tool: 'palyra.agent.run',
        decision: { kind: 'allow', policy_ids: ['client-hosts'] },
        outcome: { kind: 'completed', exit_code: 7 },
        attestation: {
          executor: 'sandbox_tier_c_linux_bubblewrap',
          sandbox_enforcement: 'strict',
          coverage: 'wrapped',
        },
      },
    });
    const { paths } = summary['changed_files'] as { readonly paths: readonly string[] };
    expect(paths).toEqual(expect.arrayContaining(['by-tool.txt', 'by-mcp.txt', 'told.json']));
    // With --json what it says is no part of the document.
    expect(first.err).toContain('said on stdout');
  });

  test('has its commands run beside it, in a box of their own, without its login and its way to palyrad', () => {
    const [shell] = told;
    expect(shell?.command).toMatch(/^\S+\/palyra-hook exec --for \S+ --listener 127\.0\.0\.1:3128 --call \S+$/);
    expect(shell).toMatchObject({ code: 3, stdout: `beside it\n${here.workspace}\n` });
  });

  test('reaches the hosts of its profile itself, and its commands do not', () => {
    const [, , command, own] = told;
    // Where nobody is asked a command that names no hosts has no way out at all.
    expect(command?.stdout?.trim()).toBe('');
    // Past the rules; the address it leads to here is no public one.
    expect(own?.stdout?.trim()).toBe('egress.address_not_allowed');
  });

  test('keeps its login, forgets other changes, and sees its user’s settings without the hook that is for outside', () => {
    expect(JSON.parse(told[4]?.text ?? '')).toEqual({ model: 'mine' });
    expect(readFileSync(join(here.person, '.claude/.credentials.json'), 'utf8')).toBe('new token\n');
    expect(readFileSync(join(here.person, '.claude.json'), 'utf8')).toBe('{"mcpServers":{}}');
  });

  test('has Palyra’s tools over MCP, in the same run, and what they wrote can be undone', async () => {
    expect(told[6]?.stdout).toContain('"isError":false');
    expect(readFileSync(join(here.workspace, 'by-mcp.txt'), 'utf8')).toBe('over MCP');
    const { run_id: run } = JSON.parse(first.out) as { readonly run_id: string };
    const log = await here.palyra(['log', '--json', run]);
    const [{ calls } = { calls: [] }] = (JSON.parse(log.out) as Logged).runs;
    expect(calls.map(({ tool }) => tool).toSorted()).toEqual([
      'agent.write',
      'palyra.agent.run',
      'palyra.fs.write',
      'palyra.process.run',
      'palyra.process.run',
    ]);
    expect((await here.palyra(['undo', run])).out).toMatch(/removed +by-mcp\.txt/);
    expect((await here.palyra(['status'])).out).toMatch(/agent:local +wrapped/);
  });

  test('of no known kind is in the box all the same; a program or a profile that there is not is our own exit', async () => {
    const plain = await here.palyra(['wrap', '--', 'sh', '-c', 'echo $PALYRA_LISTENER; ls -A ~; exit 5']);
    expect(plain).toMatchObject({ exit: 5, out: '127.0.0.1:3128\n' });
    expect(plain.err).toContain('0 calls, 0 questions, 0 refusals');
    expect(await here.palyra(['wrap', '--', 'no-such-agent'])).toMatchObject({ exit: 248 });
    expect(await here.palyra(['wrap', '--profile', 'vscode', '--', 'sh'])).toMatchObject({ exit: 242 });
    expect(await here.palyra(['wrap'])).toMatchObject({ exit: 242 });
  });

  test('that was allowed a command and never came for it ends the session when it ends', async () => {
    const asking = [
      `import { spawnSync } from 'node:child_process';`,
      `import { readFileSync } from 'node:fs';`,
      `const { hooks } = JSON.parse(readFileSync('/etc/claude-code/managed-settings.json', 'utf8'));`,
      `const event = { hook_event_name: 'PreToolUse', session_id: 's', cwd: process.cwd(), tool_name: 'Bash' };`,
      `const input = JSON.stringify({ ...event, tool_input: { command: 'true' } });`,
      `const { status } = spawnSync('sh', ['-c', hooks.PreToolUse[0].hooks[0].command], { input });`,
      `process.exit(status === 0 ? 6 : 1);`,
    ];
    writeFileSync(join(here.workspace, 'asking.mjs'), asking.join('\n'));
    const ended = await here.palyra(['wrap', '--profile', 'claude-code', '--', 'node', 'asking.mjs']);
    expect(ended).toMatchObject({ exit: 6 });
    expect(ended.err).toContain('journal    verified');
  });
});

test(
  'in a terminal: its size, its colours, and a question that one key answers while it waits',
  async () => {
    writeFileSync(join(here.workspace, '.env'), 'TOKEN=1\n');
    const words = layScript(here, [
      { say: '\u001B[31mred\u001B[0m\n' },
      { own: 'stty size < /dev/tty' },
      { tool: 'Read', input: { file_path: join(here.workspace, '.env') } },
      { say: 'went on\n' },
    ]);
    async function* typed() {
      const isOpen = async () => /^[0-9A-Z]{6} /m.test((await here.palyra(['inbox'])).out.replace(/^ID.*\n/, ''));
      for (let looks = 0; looks < 60 && !(await isOpen()); looks += 1);
      // Who has not read it yet is not heard: the key is pressed until it counts.
      for (let presses = 0; presses < 20 && (await isOpen()); presses += 1) yield 'o';
    }
    const { exit, out } = await here.inTerminal(['wrap', '--profile', 'claude-code', '--', ...words], typed());
    expect({ exit, out }).toMatchObject({ exit: 7 });
    expect(out).toContain('\u001B[31mred\u001B[0m');
    expect(toldBy(here)).toMatchObject([{ stdout: '24 80\n' }, { code: 0 }]);
    const shown = out.indexOf('secret-file');
    expect(shown).toBeGreaterThan(out.indexOf('red'));
    expect(out.indexOf('went on')).toBeGreaterThan(shown);
    expect(out).toMatch(/1 call, 1 question, 0 refusals/);
  },
  PATIENT,
);

test(
  'in a terminal: a new size is its size, and Ctrl-C is its signal, not the end of the session',
  async () => {
    const ready = join(here.workspace, 'ready');
    // It says its size when that changes, and goes on after an interrupt to end as it likes.
    const agent = [
      // Rows and columns may come one after the other, and each is a change.
      `trap 'size=$(stty size); echo "size $size"; [ "$size" = "30 100" ] && touch ${ready}-2' WINCH`,
      "trap 'echo interrupted; exit 9' INT",
      `touch ${ready}-1`,
      'while :; do sleep 0.05; done',
    ].join('; ');
    async function* typed() {
      await vi.waitFor(() => expect(existsSync(`${ready}-1`)).toBe(true), { timeout: 60_000 });
      here.resizeTerminal(30, 100);
      await vi.waitFor(() => expect(existsSync(`${ready}-2`)).toBe(true), { timeout: 60_000 });
      yield '\u0003';
    }
    const { exit, out } = await here.inTerminal(['wrap', '--', 'sh', '-c', agent], typed());
    expect({ exit, out }).toMatchObject({ exit: 9 });
    expect(out).toMatch(/size 30 100\s.*interrupted\s.*0 calls, 0 questions/s);
  },
  PATIENT,
);

test.each(['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const)(
  '%s to palyra is the agent’s, which ends as it likes',
  async (name) => {
    const script = `trap 'echo caught; exit 9' ${name.slice(3)}; echo ready; while :; do sleep 0.05; done`;
    const { child, ended } = here.start(['wrap', '--', 'sh', '-c', script]);
    await new Promise((resolve) => child.stdout?.once('data', resolve));
    child.kill(name);
    const { exit, out, err } = await ended;
    expect({ exit, out, err }).toMatchObject({ exit: 9, out: 'ready\ncaught\n' });
    expect(err).toContain('journal    verified');
  },
  PATIENT,
);
