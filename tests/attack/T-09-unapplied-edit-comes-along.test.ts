// T-09: an edit of the policies that nobody applied comes into force because a human answers another question for good; or
// what a crash left of such an answer decides after the next start.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createRememberedRules } from '@palyra/gateway';
import { systemClock } from '@palyra/primitives';
import { decideAsShown } from '@palyra/testkit';
import { afterEach, expect, test, vi } from 'vitest';
import { type DaemonHouse, openDaemonHouse } from '../integration/daemon-house.ts';

const EDIT = '@id("anything")\npermit (principal, action, resource);\n';

let house: DaemonHouse | undefined;

afterEach(async () => {
  await house?.close();
  house = undefined;
});

async function open() {
  const made = await openDaemonHouse();
  house = made;
  writeFileSync(join(made.workspace.root, '.env'), 'A=1\n');
  return made;
}

function edit({ home }: DaemonHouse): void {
  mkdirSync(home.policies, { recursive: true, mode: 0o700 });
  writeFileSync(join(home.policies, 'mine.cedar'), EDIT, { mode: 0o600 });
}

test('an answer for good is refused while there are such edits, and nothing of it is done', async () => {
  const { daemon, agent, workspace, ada, operator, ...rest } = await open();
  const run = await daemon.gateway.startRun(agent, { workspace });
  const asking = run.call({ tool: 'palyra.fs.read', input: '{"path":".env"}' });
  const { approvalId } = await rest.asked();
  const before = daemon.policies.current().digest;
  edit(house as DaemonHouse);
  const answer = { decision: 'approve', scope: 'always', by: ada } as const;
  expect(await decideAsShown(daemon.approvals, approvalId, answer)).toMatchObject({ code: 'not_offered' });
  expect(await daemon.rules.allow({ workspace, rule: 'host:example.org', by: operator })).toMatchObject({
    kind: 'not_written',
    code: 'policy.edits_pending',
  });
  expect(daemon.policies.current().digest).toBe(before);
  expect(await daemon.approvals.pending({ limit: 9 })).toHaveLength(1);
  await run.cancel();
  await asking;
});

test('an edit that is made while the rule is written does not come along either', async () => {
  const { daemon, operator, workspace, home } = await open();
  const before = daemon.policies.current().digest;
  const policies: typeof daemon.policies = {
    ...daemon.policies,
    applyRule(...args) {
      // After the last look at the directory, before it is read to be applied.
      edit(house as DaemonHouse);
      return daemon.policies.applyRule(...args);
    },
  };
  const database = { read: undefined as never };
  const rules = createRememberedRules({
    directory: home.policies,
    policies,
    approvals: daemon.approvals,
    database,
    clock: systemClock,
  });
  expect(await rules.allow({ workspace, rule: 'host:example.org', by: operator })).toMatchObject({
    kind: 'not_written',
  });
  expect(daemon.policies.current().digest).toBe(before);
  expect(readdirSync(join(home.policies, 'workspaces'))).toEqual([]);
});

test('a rule that was written when palyrad was killed is taken back before the policies are read, and told', async () => {
  const { daemon, operator, workspace, home } = await open();
  const before = daemon.policies.current().digest;
  const policies: typeof daemon.policies = { ...daemon.policies, applyRule: () => new Promise(() => undefined) };
  const database = { read: undefined as never };
  const rules = createRememberedRules({
    directory: home.policies,
    policies,
    approvals: daemon.approvals,
    database,
    clock: systemClock,
  });
  // It never comes back: from here on the process is as good as dead.
  void rules.allow({ workspace, rule: 'host:example.org', by: operator });
  const written = join(home.policies, 'workspaces/work+always.policytest.toml');
  await vi.waitFor(() => expect(existsSync(written)).toBe(true), { timeout: 20_000 });
  expect(readFileSync(written, 'utf8')).toContain('example.org');

  house = await (house as DaemonHouse).restart();
  expect(house.daemon.unfinishedRules).toMatchObject([
    { what: 'taken_back', workspace: 'work', shown: expect.stringContaining('example.org') },
  ]);
  expect(house.daemon.policies.current().digest).toBe(before);
  expect(house.daemon.rules.list(house.operator)).toEqual([]);
  house = await house.restart();
  expect(house.daemon.unfinishedRules).toEqual([]);
});
