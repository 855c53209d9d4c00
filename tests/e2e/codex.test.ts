import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ApprovalService, OutcomeKind, type PendingApproval } from '@palyra/api';
import { findHook } from '@palyra/sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PALYRA } from '../hooked-agent.ts';
import { type StandIn, standIn } from '../integration/network-house.ts';
import {
  type CodexHouse,
  hookCodex,
  hookSettings,
  listHooks,
  openCodexHouse,
  resultsOnRecord,
  runCodex,
  trustHooks,
  writeCodexConfig,
} from './codex-session.ts';
import { patch, shell, tool } from './fake-model.ts';

let house: CodexHouse;
let web: StandIn;
let forbidden: StandIn;

/** A rule of the operator. */
const BLOCKED = `@id("no-pastebin")
@reason("Nothing goes to a pastebin.")
@fix("Show it to a person instead.")
forbid (principal, action in Palyra::Action::"execute", resource)
when { context.enforced.hosts.contains("blocked.example:80") };
`;

beforeAll(async () => {
  [web, forbidden] = await Promise.all([standIn(), standIn()]);
  const config = () => `[egress]
hosts = "web.example=127.0.0.1, blocked.example=127.0.0.1"
private_ranges = "127.0.0.1:${web.port}"
`;
  house = await openCodexHouse({
    config,
    prepare: ({ policies }) => writeFile(join(policies, 'hosts.cedar'), BLOCKED, { mode: 0o600 }),
  });
  await hookCodex(house);
}, 60_000);
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await Promise.all([web[Symbol.asyncDispose](), forbidden[Symbol.asyncDispose]()]);
});

const inWorkspace = (name: string) => join(house.workspace, name);
const isThere = (name: string) => existsSync(inWorkspace(name));

/** What is on record of all calls so far, oldest first. */
async function attested() {
  return (await resultsOnRecord(house)).map((result) => ({
    tool: result?.tool,
    outcome: OutcomeKind[result?.outcome?.kind ?? 0],
    executor: result?.attestation?.executor,
    enforcement: result?.attestation?.sandboxEnforcement,
    coverage: result?.attestation?.coverage,
  }));
}

const IN_THE_BOX = {
  tool: 'palyra.process.run',
  outcome: 'COMPLETED',
  executor: 'sandbox_tier_c_linux_bubblewrap',
  enforcement: 'strict',
  coverage: 'hooked',
};
const BY_CODEX = { executor: 'client_reported', enforcement: 'none', coverage: 'hooked', outcome: 'COMPLETED' };

/** What `palyra doctor` says of it. */
async function doctorOnCodex() {
  const { out } = await house.palyra('doctor', '--json');
  const { clients } = JSON.parse(out) as { clients: readonly { client: string; state: string; says: string }[] };
  return clients.find(({ client }) => client === 'codex');
}

/** The only open question, once there is one. */
async function question(): Promise<PendingApproval> {
  const approvals = house.palyrad.client(ApprovalService, 'operator');
  const open = async () => (await approvals.listApprovals({})).approvals.filter(({ state }) => state === 'pending');
  await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBe(1);
  const [asked] = await open();
  if (asked === undefined) throw new Error('Nothing is asked.');
  return asked;
}

const answer = async (verb: 'approve' | 'deny', ...more: readonly string[]) => {
  const { approvalId } = await question();
  expect(await house.palyra(verb, approvalId, ...more)).toMatchObject({ exit: 0 });
};

describe('Codex with the hook that palyra install wrote', () => {
  test('has found it, trusts it, and waits for it longer than a human is asked', async () => {
    const common = { enabled: true, trustStatus: 'trusted', timeoutSec: 31 * 60 };
    expect(await listHooks(house)).toMatchObject([
      { eventName: 'preToolUse', ...common },
      { eventName: 'postToolUse', ...common },
    ]);
    expect(await doctorOnCodex()).toMatchObject({ state: 'alive', says: expect.stringContaining('Codex trusts it') });
  });

  test('runs an allowed command in the box, edits by itself, and the model hears of both', async () => {
    mkdirSync(inWorkspace('sub'));
    const turns = [
      shell('echo "in $PWD"; cat /proc/self/status | grep ^Seccomp:; touch made; exit 3', { workdir: 'sub' }),
      patch('*** Add File: a.txt', '+by Codex'),
      tool('get_goal', {}),
      patch('*** Update File: not-there.txt', '@@', '-x', '+y'),
    ];
    // In Codex's own sandbox, and as docs/reference/agents.md has it.
    const sandbox = ['-s', 'workspace-write', '-c', 'sandbox_workspace_write.network_access=true'];
    const session = await runCodex(house, turns, { sandbox });
    expect(session.exit).toBe(0);
    expect(session.outputOf(0)).toContain(
      `Process exited with code 3\nOriginal token count: ${tokens(session.outputOf(0))}\nOutput:\nin ${inWorkspace('sub')}\nSeccomp:\t2\n`,
    );
    expect(session.said).toMatch(new RegExp(`${findHook()} exec --for \\S+ --home ${house.palyrad.home.root} --call `));
    expect(isThere('sub/made')).toBe(true);
    expect(session.outputOf(1)).toContain('Success. Updated the following files:\nA a.txt');
    expect(session.outputOf(2)).toContain('"goal":null');
    expect(await attested()).toEqual([
      IN_THE_BOX,
      { ...BY_CODEX, tool: 'agent.write' },
      // Codex has no event for an edit that failed: that nothing was reported is what is on record.
      expect.objectContaining({ tool: 'agent.write' }),
    ]);
  });

  test('whose own sandbox keeps commands from palyrad runs none of them, and the model hears why', async () => {
    const session = await runCodex(house, [shell('touch walled')], { sandbox: ['-s', 'workspace-write'] });
    expect(session.outputOf(0)).toContain('Process exited with code 244');
    expect(session.outputOf(0)).toContain('network_access = true');
    expect(isThere('walled')).toBe(false);
  });

  test('runs nothing that its user’s own rules forbid or ask about, although it is given another command', async () => {
    const rule = (word: string, decision: string) => `prefix_rule(pattern = ["${word}"], decision = "${decision}")\n`;
    const rules = join(house.person, '.codex/rules');
    mkdirSync(rules);
    writeFileSync(join(rules, 'mine.rules'), rule('touch', 'forbidden') + rule('mkdir', 'prompt'));
    try {
      const turns = [shell('touch by-rule'), shell('true && mkdir by-rule'), shell('echo x > not-by-rule')];
      const session = await runCodex(house, turns);
      expect(session.outputOf(0)).toContain('A rule of the user in Codex forbids this: prefix_rule([["touch"]])');
      expect(session.outputOf(1)).toContain('Codex lets no hook ask its user');
      expect([isThere('by-rule'), isThere('not-by-rule')]).toEqual([false, true]);
    } finally {
      rmSync(rules, { recursive: true });
    }
  });

  test('asks, and goes on when a human says yes', async () => {
    const turns = [
      patch('*** Add File: .github/workflows/ci.yml', '+on: push'),
      shell(`curl -sS http://web.example:${web.port}/page`),
    ];
    const session = runCodex(house, turns);
    const { promptJson } = await question();
    expect(promptJson).toContain('.github/workflows/ci.yml');
    await answer('approve', '--yes', '--scope', 'once');
    await expect.poll(() => isThere('.github/workflows/ci.yml'), { timeout: 20_000 }).toBe(true);
    await answer('approve', '--yes', '--scope', 'once');
    expect((await session).outputOf(1)).toContain(`hello from web.example:${web.port}`);
    expect(web.seen).toEqual([`GET web.example:${web.port}/page`]);
  });

  test('hears a human’s no with the reason; meanwhile another session gets at nothing, nor at the answer', async () => {
    const before = hookSettings(house);
    const waiting = runCodex(house, [patch('*** Add File: .codex/config.toml', '+[features]', '+hooks = false')]);
    const asked = await question();
    const { home } = house.palyrad;
    const codex = join(house.person, '.codex');
    const shells = [
      `curl -sS http://blocked.example/; curl -sS --noproxy '' http://127.0.0.1:${forbidden.port}/`,
      `exec 2>&1; cat ${home.root}/hook ${home.configFile}; ls -A ${home.root} ${home.identity} ~`,
      `${PALYRA} approve ${asked.approvalId} --yes --home ${home.root}; palyra approve ${asked.approvalId} --yes`,
      `for f in hooks.json config.toml; do echo '{}' > ${codex}/$f; mkdir -p ~/.codex; echo '{}' > ~/.codex/$f; done`,
    ];
    const tools = [
      tool('view_image', { path: join(home.root, 'hook') }),
      tool('view_image', { path: join(codex, 'auth.json') }),
      patch(`*** Update File: ${codex}/hooks.json`, '@@', '-{', '+{ "hooks": {} }'),
      patch(`*** Add File: ${home.policies}/mine.cedar`, '+permit (principal, action, resource);'),
      patch('*** Add File: b.txt', '+x', `*** Delete File: ${codex}/hooks.json`),
    ];
    const session = await runCodex(house, [...shells.map((command) => shell(command)), ...tools]);
    const outputs = [...shells, ...tools].map((_each, turn) => session.outputOf(turn) ?? '');
    expect(outputs[0]).toContain(
      '"code":"policy.forbidden","host":"blocked.example","port":80,"missing":"no-pastebin"',
    );
    expect(outputs[0]).toContain(`"host":"127.0.0.1","port":${forbidden.port},"missing":"never"`);
    expect(forbidden.connections()).toBe(0);
    expect(outputs[1]?.split('Output:\n')[1]).toBe(
      [
        `cat: ${home.root}/hook: No such file or directory`,
        `cat: ${home.configFile}: No such file or directory`,
        `ls: cannot access '${home.root}': No such file or directory`,
        `ls: cannot access '${home.identity}': No such file or directory`,
        '/home/palyra:\n',
      ].join('\n'),
    );
    expect(outputs[2]).toContain('Process exited with code 127');
    for (const output of outputs.slice(shells.length)) {
      expect(output).toMatch(/blocked by PreToolUse hook: Palyra refused this \(policy\.forbidden\)/);
    }
    expect([hookSettings(house), isThere('b.txt')]).toEqual([before, false]);
    expect(await question()).toMatchObject({ approvalId: asked.approvalId, votes: 0 });

    await answer('deny', '--reason', 'Not on Fridays.');
    const denied = await waiting;
    expect(denied.outputOf(0)).toContain('Command blocked by PreToolUse hook: Palyra refused this');
    expect(denied.outputOf(0)).toContain('Not on Fridays.');
    expect(isThere('.codex')).toBe(false);
  });

  test('does nothing more once the hook’s program is gone in mid-session', async () => {
    const codexHome = join(house.person, 'codex-of-a-copy');
    const hook = join(house.person, 'palyra-hook');
    writeCodexConfig(codexHome);
    copyFileSync(findHook() ?? '', hook);
    writeFileSync(join(codexHome, 'hooks.json'), hookSettings(house).replaceAll(findHook() ?? '', hook));
    await trustHooks(house, codexHome);
    const removed = () => {
      rmSync(hook);
      return shell('touch ungated');
    };
    const turns = [shell('touch gated'), removed, patch('*** Add File: ungated.txt', '+x')];
    const session = await runCodex(house, turns, { codexHome });
    expect(session.outputOf(0)).toContain('Process exited with code 0');
    for (const turn of [1, 2]) expect(session.outputOf(turn)).toContain('blocked by PreToolUse hook');
    expect(['gated', 'ungated', 'ungated.txt'].map(isThere)).toEqual([true, false, false]);
  });

  // What really happens, and why the wall is `palyra wrap`: nobody tells us of a Codex that does not run its hook.
  test('that nobody trusts, or that was changed since, is not run by codex exec, and the command is not ours', async () => {
    const codexHome = join(house.person, 'codex-without-trust');
    writeCodexConfig(codexHome);
    writeFileSync(join(codexHome, 'hooks.json'), hookSettings(house));
    expect((await listHooks(house, codexHome)).map(({ trustStatus }) => trustStatus)).toEqual([
      'untrusted',
      'untrusted',
    ]);
    const calls = (await attested()).length;
    const session = await runCodex(house, [shell('touch nobody-asked')], { codexHome });
    expect(session.outputOf(0)).toContain('Process exited with code 0');
    expect([isThere('nobody-asked'), (await attested()).length]).toEqual([true, calls]);

    const own = join(house.person, '.codex/hooks.json');
    const trusted = hookSettings(house);
    writeFileSync(own, trusted.replaceAll('--patience 1830', '--patience 1831'));
    expect(await doctorOnCodex()).toMatchObject({
      state: 'dead',
      says: 'Codex does not run its hook, for the hook is modified: its tools run, and nobody is asked.',
    });
    writeFileSync(own, trusted);
  });

  test('runs nothing once palyrad was killed in mid-call, and the record holds', async () => {
    const killed = async () => {
      await expect.poll(() => isThere('begun'), { timeout: 20_000 }).toBe(true);
      house.palyrad.child.kill('SIGKILL');
      await house.palyrad.ended();
    };
    const before = (await attested()).length;
    const turns = [
      shell('touch begun; while :; do date +%N > beat; done'),
      shell('touch after'),
      patch('*** Add File: after.txt', '+x'),
      tool('view_image', { path: inWorkspace('a.txt') }),
    ];
    const [session] = await Promise.all([runCodex(house, turns), killed()]);
    // Its output is on no record, so the model is not told it either.
    expect(session.outputOf(0)).toMatch(/^Palyra: palyrad does not run/);
    for (const turn of [1, 2, 3]) expect(session.outputOf(turn)).toMatch(/blocked by PreToolUse hook: Palyra: palyrad/);
    expect(['after', 'after.txt'].map(isThere)).toEqual([false, false]);
    const beat = readFileSync(inWorkspace('beat'), 'utf8');

    await house.restart();
    expect((await attested()).slice(before)).toEqual([expect.objectContaining({ outcome: 'UNKNOWN_OUTCOME' })]);
    expect(await house.palyra('verify', dirname(house.palyrad.home.database))).toMatchObject({ exit: 0 });
    // What it ran went with it.
    expect(readFileSync(inWorkspace('beat'), 'utf8')).toBe(beat);
  });
});

const tokens = (output = '') => /Original token count: (\d+)/.exec(output)?.[1];
