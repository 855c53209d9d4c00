import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnsweredOutcome, Caller } from '@palyra/gateway';
import { decideAsShown } from '@palyra/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type DaemonHouse, openDaemonHouse } from './daemon-house.ts';

const PATIENT = { timeout: 20_000 };

let house: DaemonHouse;

/** A worker that serves files stays with its daemon: what a test starts, it ends. */
async function open(): Promise<void> {
  house = await openDaemonHouse();
  for (const name of ['.env', '.env.local']) writeFileSync(join(house.workspace.root, name), 'A=1\n');
}

async function startRun(caller: Caller = house.agent) {
  return house.daemon.gateway.startRun(caller, { workspace: house.workspace });
}

async function read(path: string, caller?: Caller) {
  const run = await startRun(caller);
  return run.call({ tool: 'palyra.fs.read', input: JSON.stringify({ path }) });
}

const files = () => {
  const below = join(house.home.policies, 'workspaces');
  return existsSync(below) ? readdirSync(below).toSorted() : [];
};

describe('a call', () => {
  beforeEach(open);
  afterEach(() => house.close());

  test('an answer for good is a tested rule, in force and on record, and others who wait find it', async () => {
    const { daemon, ada, operator, agent } = house;
    const first = read('.env');
    const { approvalId } = await house.asked();
    const second = read('.env', { ...agent, credential: 'another' });
    await vi.waitFor(async () => expect(await daemon.approvals.pending({ limit: 9 })).toHaveLength(2), PATIENT);
    const outcome: AnsweredOutcome = await decideAsShown(daemon.approvals, approvalId, {
      decision: 'approve',
      scope: 'always',
      by: ada,
    });
    expect(outcome).toMatchObject({ kind: 'decided', scope: 'always', rule: { kind: 'in_force', wasThere: false } });
    expect((await first).outcome.kind).toBe('completed');
    // Nobody answered it: the rule did.
    const [rule] = daemon.rules.list(operator);
    expect(await second).toMatchObject({
      decision: { kind: 'allow', policy_ids: [rule?.id] },
      outcome: { kind: 'completed' },
    });
    expect(await read('.env')).toMatchObject({ decision: { kind: 'allow' }, outcome: { kind: 'completed' } });
    expect(rule).toMatchObject({ workspace: 'work', isActive: true, reason: expect.stringContaining('.env') });
    expect(files()).toEqual(['work+always.cedar', 'work+always.policytest.toml']);
    expect(await daemon.policies.pending()).toBe(false);

    const { entries } = await daemon.journal.query({ kinds: ['policy.activated'], order: 'newest first', limit: 1 });
    expect(entries).toMatchObject([
      { actor: 'user:ada', data: { source: 'always_here', rule: rule?.id, change: 'added' } },
    ]);
    expect(await house.verdict()).toBe('sound');
  });

  test('it is for that file, in that mode, and for nothing else', async () => {
    const { daemon, operator, workspace } = house;
    await daemon.rules.allow({ workspace, rule: 'secret-file:.env', by: operator });
    expect((await read('.env')).outcome.kind).toBe('completed');
    const other = read('.env.local');
    await house.daemon.approvals.decide((await house.asked()).approvalId, {
      decision: 'deny',
      shown: (await house.asked()).shown,
      by: house.ada,
    });
    expect((await other).outcome.kind).toBe('refused');
    const run = await startRun();
    const written = run.call({ tool: 'palyra.fs.write', input: JSON.stringify({ path: '.env', content: 'B=2\n' }) });
    const card = await house.asked();
    expect(card.prompt.options.map(({ scope }) => scope)).toContain('always');
    await run.cancel();
    expect((await written).outcome.kind).toBe('refused');
  });

  test('a rule that is taken out leaves nothing, and asks again', async () => {
    const { daemon, operator, workspace } = house;
    const before = daemon.policies.current().digest;
    const made = await daemon.rules.allow({ workspace, rule: 'secret-file:.env', by: operator });
    expect(made).toMatchObject({ kind: 'in_force', wasThere: false });
    expect(await daemon.rules.allow({ workspace, rule: 'secret-file:.env', by: operator })).toMatchObject({
      kind: 'in_force',
      wasThere: true,
    });
    const [rule] = daemon.rules.list(operator, 'work');
    expect(daemon.rules.list(operator, 'elsewhere')).toEqual([]);
    expect(await daemon.rules.remove(operator, rule?.id ?? '')).toMatchObject({ kind: 'in_force' });
    expect([files(), daemon.policies.current().digest]).toEqual([[], before]);
    const run = await startRun();
    const asking = run.call({ tool: 'palyra.fs.read', input: '{"path":".env"}' });
    await house.asked();
    await run.cancel();
    expect((await asking).outcome.kind).toBe('refused');
    await expect(daemon.rules.remove(operator, rule?.id ?? '')).rejects.toMatchObject({
      code: 'policy.invalid_request',
    });
  });

  test('what was remembered is in force after a restart', async () => {
    const { daemon, operator, workspace } = house;
    await daemon.rules.allow({ workspace, rule: 'secret-file:.env', by: operator });
    house = await house.restart();
    expect(house.daemon.unfinishedRules).toEqual([]);
    expect((await read('.env')).outcome.kind).toBe('completed');
    expect(readFileSync(join(house.home.policies, 'workspaces/work+always.cedar'), 'utf8')).toContain('always here');
  });
});

describe('words', () => {
  beforeAll(open);
  afterAll(() => house.close());
  beforeEach(async () => {
    const { daemon, operator } = house;
    for (const { id } of daemon.rules.list(operator)) await daemon.rules.remove(operator, id);
  });

  test.each([
    ['host:example.org', 'example.org:443'],
    ['host:example.org:8443', 'example.org:8443'],
    ['registries:packages.example:443', 'packages.example:443'],
    ['secret-file-write:.env', '/work/.env'],
  ])('%s is a rule', async (text, shown) => {
    const { daemon, operator, workspace } = house;
    expect(await daemon.rules.allow({ workspace, rule: text, by: operator })).toMatchObject({ kind: 'in_force' });
    expect(daemon.rules.list(operator)).toMatchObject([{ text: expect.stringContaining(shown) }]);
  });

  test.each([
    'nothing',
    'host:',
    'host:EXAMPLE.org',
    'host:*:443',
    'registries',
    'secret-file:../x',
    'outside-path:/srv/data',
    'mcp-tool:mail:mcp.mail.send:latest',
  ])('%s is none', async (text) => {
    const { daemon, operator, workspace } = house;
    await expect(daemon.rules.allow({ workspace, rule: text, by: operator })).rejects.toMatchObject({
      code: 'policy.invalid_request',
    });
    expect(files()).toEqual([]);
  });

  test('a rule that a test of the operator does not take is not there afterwards', async () => {
    const { daemon, operator, workspace, home } = house;
    const own = join(home.policies, 'own.policytest.toml');
    const text = '[[test]]\nname = "asked"\nworkspace = "work"\nenforced.hosts = ["example.org:443"]\nexpect = "ask"\n';
    writeFileSync(own, text, { mode: 0o600 });
    await daemon.policies.apply();
    const before = daemon.policies.current().digest;
    expect(await daemon.rules.allow({ workspace, rule: 'host:example.org', by: operator })).toMatchObject({
      kind: 'not_written',
      code: 'policy.test_failed',
    });
    expect([files(), daemon.policies.current().digest, await daemon.policies.pending()]).toEqual([[], before, false]);
    writeFileSync(own, '', { mode: 0o600 });
    await daemon.policies.apply();
  });
});
