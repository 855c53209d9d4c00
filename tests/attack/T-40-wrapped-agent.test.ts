// T-40, T-06, T-15, T-35, T-41, T-36, T-58: an agent in the box of `palyra wrap`, and a command that it has run beside it, are hostile.
// They try to answer questions, to change rules, to see what others do, to start another agent with somebody's login, to read
// Palyra's home and the operator's keys, to switch the hooks off, and to leave something for later. And a caller outside claims
// to be wrapped, and one in its box goes on after the device that it was started with was revoked.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '@palyra/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ended, type Newcomer, newcomer } from '../e2e/palyra-process.ts';
import { PALYRA } from '../hooked-agent.ts';
import { layScript, type Told, toldBy } from '../wrapped-agent.ts';

const DOOR = fileURLToPath(new URL('../door-client.mjs', import.meta.url));
const PATIENT = 240_000;

interface Logged {
  readonly runs: readonly { readonly calls: readonly { readonly tool: string; readonly outcome: string }[] }[];
}

interface Listed {
  readonly devices: readonly { readonly device_id: string; readonly kind: string }[];
}

let here: Newcomer;
let ended: Ended;
let told: Map<string, Told>;

const door = (method: string, body: object = {}) => `node door.mjs ${method} '${JSON.stringify(body)}'`;
const nested = { profile: 'claude-code', argv: ['sh', '-c', 'cat ~/.claude/.credentials.json'] };

/** By what each is called below. */
const ATTEMPTS = {
  works: door('ToolService/ListTools'),
  'lists questions': door('ApprovalService/ListApprovals'),
  answers: door('ApprovalService/RecordDecision', { approvalId: '01M7KGBXPZ3M0ENA7VGK51AWNV' }),
  'writes a rule': door('PolicyService/AllowRule', { rule: 'host:evil.example:443' }),
  'looks at runs': door('RunService/ListRuns'),
  'stops agents': door('RunService/StopAgents'),
  'looks at palyrad': door('StatusService/GetStatus'),
  'ends palyrad': door('StatusService/Shutdown'),
  'starts another agent': `${PALYRA} tool call palyra.agent.run --input '${JSON.stringify(nested)}'`,
  'plays its own hook': `${PALYRA} tool call agent.write --input '{"client":"x","tool":"y","paths":[],"arguments":"{}"}'`,
  'types approve': `${PALYRA} approve --scope once`,
  'types wrap': `${PALYRA} wrap -- sh`,
  'writes managed settings':
    'echo "{}" > /etc/claude-code/managed-settings.json; rm -f /etc/claude-code/managed-settings.json',
  'moves its settings away':
    'mv ~/.claude ~/.other && mkdir ~/.claude; mv ~/.claude/settings.json ~/x; rm -f ~/.claude/settings.json',
  'writes its user’s settings': 'echo evil > ~/.claude/settings.json; echo evil > ~/.claude/CLAUDE.md',
  'plants a server': `echo '{"mcpServers":{"evil":{"command":"evil"}}}' > ~/.claude.json`,
} as const;

beforeAll(async () => {
  here = newcomer();
  await here.palyra(['init']);
  await here.palyra(['config', 'set', 'egress.unlisted', 'deny']);
  await here.palyra(['workspace', 'add', here.workspace]);
  mkdirSync(join(here.person, '.claude'));
  mkdirSync(join(here.person, '.ssh'));
  writeFileSync(join(here.person, '.ssh/id'), 'a private key');
  writeFileSync(join(here.person, '.claude/.credentials.json'), 'token');
  writeFileSync(join(here.person, '.claude/settings.json'), '{"model":"mine"}');
  writeFileSync(join(here.person, '.claude.json'), '{}');
  // SECURITY: T-14 — of the state that is shown, one leads elsewhere.
  symlinkSync(join(here.person, '.ssh'), join(here.person, '.claude/projects'));
  copyFileSync(DOOR, join(here.workspace, 'door.mjs'));
  const words = layScript(here, [
    ...Object.values(ATTEMPTS).map((own) => ({ own })),
    {
      own: `cat ${here.home}/palyra.toml ${here.home}/identity/operator/* ${here.person}/.ssh/id ~/.claude/projects/id`,
    },
    { tool: 'Bash', input: { command: `${door('ToolService/ListTools')}; ls -A ~; cat /etc/claude-code/*` } },
    { tool: 'Write', input: { file_path: join(here.workspace, '.git/hooks/pre-commit'), content: 'evil' } },
    { tool: 'Read', input: { file_path: join(here.home, 'palyra.toml') } },
  ]);
  ended = await here.palyra(['wrap', '--json', '--profile', 'claude-code', '--', ...words]);
  const names = [...Object.keys(ATTEMPTS), 'reads', 'sibling', 'plants a git hook', 'has Palyra’s home read'];
  told = new Map(toldBy(here).map((each, at) => [names[at] ?? '', each]));
}, PATIENT);
afterAll(() => here[Symbol.asyncDispose]());

describe('an agent in its box', () => {
  test('reaches palyrad by its listener, or what follows would prove nothing', () => {
    expect(ended).toMatchObject({ exit: 7 });
    expect(told.get('works')?.stdout).toMatch(/^200 .*palyra\.process\.run/);
  });

  test.each([
    'lists questions',
    'answers',
    'writes a rule',
    'looks at runs',
    'stops agents',
    'looks at palyrad',
    'ends palyrad',
  ])('%s: it is not served', (name) => {
    expect(told.get(name)).toMatchObject({ code: 1, stdout: expect.not.stringMatching(/^200/) });
  });

  test('starts no other agent beside it, and cannot say what its own tools did', () => {
    expect(told.get('starts another agent')?.stdout).toContain('gateway.not_authorized');
    expect(told.get('starts another agent')?.stdout).not.toContain('token');
    expect(told.get('plays its own hook')?.stdout).toContain('gateway.not_delegated');
  });

  test.each(['types approve', 'types wrap'])('%s: that is for people', (name) => {
    expect(told.get(name)?.stderr).toContain('error[cli.in_a_box]');
  });

  test('reads neither Palyra’s home nor the operator’s keys, by no path and by no link of its state', () => {
    const { stdout = '', stderr = '' } = told.get('reads') ?? {};
    expect(stdout).toBe('');
    expect(stderr.match(/No such file/g)?.length).toBeGreaterThanOrEqual(4);
    expect(told.get('has Palyra’s home read')?.refused).toContain('Palyra refused this');
  });

  test('keeps its hooks, whatever it does to its settings, and leaves nothing for later in its user’s', () => {
    expect(told.get('writes managed settings')?.stderr).toMatch(/Read-only file system/);
    expect(told.get('moves its settings away')?.stderr).toMatch(/busy/);
    expect(told.get('writes its user’s settings')?.stderr).toMatch(/Read-only file system|Permission denied/);
    expect(readFileSync(join(here.person, '.claude/settings.json'), 'utf8')).toBe('{"model":"mine"}');
    expect(readFileSync(join(here.person, '.claude.json'), 'utf8')).toBe('{}');
    expect(existsSync(join(here.person, '.claude/CLAUDE.md'))).toBe(false);
    // The last three of its script went through them.
    expect(told.get('plants a git hook')?.refused).toContain('gateway.protected_in_box');
    expect(existsSync(join(here.workspace, '.git/hooks/pre-commit'))).toBe(false);
  });
});

test('a command beside it has neither its way to palyrad, nor its login, nor its settings', () => {
  expect(told.get('sibling')?.stdout).toMatch(/^no palyrad: \S+\n$/);
  expect(told.get('sibling')?.stderr).toContain('No such file');
});

test('every refusal is in the journal, which is whole', async () => {
  const { run_id: run, verification } = JSON.parse(ended.out) as {
    readonly run_id: string;
    readonly verification: object;
  };
  expect(verification).toMatchObject({ verdict: 'sound' });
  const { out } = await here.palyra(['log', '--json', run]);
  const [{ calls } = { calls: [] }] = (JSON.parse(out) as Logged).runs;
  const refused = calls.filter(({ outcome }) => outcome === 'refused').map(({ tool }) => tool);
  expect(refused.toSorted()).toEqual(['agent.read', 'agent.write', 'agent.write', 'palyra.agent.run']);
});

test('a caller outside that says it is wrapped gets nothing attested as that', async () => {
  using client = await connect({ home: here.home, as: 'agent' });
  const claiming = await client.startRun({ workspace: here.workspace, surface: 'wrap' });
  await expect(claiming.call('palyra.process.run', { argv: ['true'] })).rejects.toMatchObject({
    code: expect.any(String),
  });
  await claiming.end();
  const plain = await client.startRun({ workspace: here.workspace });
  const agent = await plain.call('palyra.agent.run', nested);
  expect(agent).toMatchObject({ outcome: { kind: 'refused', code: 'gateway.not_authorized' } });
  await plain.end();
  rmSync(join(here.workspace, 'told.json'), { force: true });
});

test(
  'an agent in its box is nobody any more when the device that it was started with is revoked',
  async () => {
    const at = (name: string) => join(here.workspace, name);
    spawnSync('mkfifo', [at('ready'), at('go-on'), at('over')]);
    const list = door('ToolService/ListTools');
    const script = `${list} > first; echo > ready; read -r line < go-on; ${list} > second; echo > over`;
    const wrapped = here.start(['wrap', '--', 'sh', '-c', script]);
    await readFile(at('ready'));
    expect(readFileSync(at('first'), 'utf8')).toMatch(/^200 /);
    const { devices } = JSON.parse((await here.palyra(['device', 'list', '--json'])).out) as Listed;
    const [{ device_id: id } = { device_id: '' }] = devices.filter(({ kind }) => kind === 'agent');
    expect(await here.palyra(['device', 'revoke', id, '--yes'])).toMatchObject({ exit: 0 });
    await writeFile(at('go-on'), 'x\n');
    await readFile(at('over'));
    expect(readFileSync(at('second'), 'utf8')).toMatch(/^(?:401|no palyrad)/);
    // Nor does it look for palyrad for long, with a certificate that counts no longer.
    const [lost] = await Promise.all([wrapped.ended, here.palyra(['stop'])]);
    expect(lost.err).toContain('error[client.unreachable]: palyrad was lost, or takes this credential no longer');
  },
  PATIENT,
);
