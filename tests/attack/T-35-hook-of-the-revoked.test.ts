// T-35: the agent of this home was revoked, by a command that palyrad was asked for or behind its back in the database, and its
// hooks go on asking. palyrad remembers for a moment who the agent is: no longer than a second after the revocation may it
// answer with anything but a no. A hook that waits for a human meanwhile is hung up on at the next look, one each second: a yes
// after that runs nothing.
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApprovalScope, ApprovalService, DeviceService } from '@palyra/api';
import { signedBytes } from '@palyra/approvals';
import { credentialDirectory, openCredential, openOperatorCredential } from '@palyra/identity';
import { expect, test } from 'vitest';
import { type HookedAgent, type Said, startHookedAgent } from '../hooked-agent.ts';

/** What is never reported palyrad would wait for when it ends. */
async function ask(agent: HookedAgent): Promise<Said> {
  const [input, more] = [{ file_path: 'a.txt' }, { tool_use_id: crypto.randomUUID() }];
  const said = await agent.say(agent.event('PreToolUse', 'Read', input, more));
  if (said.code === 0) await agent.say(agent.event('PostToolUse', 'Read', input, { ...more, tool_response: {} }));
  return said;
}
const credentialOf = ({ palyrad }: HookedAgent) =>
  openCredential(credentialDirectory(palyrad.home.identity, 'local-agent'));

/** Often enough that palyrad remembers it. */
async function askOften(agent: HookedAgent): Promise<void> {
  for (let i = 0; i < 5; i += 1) expect(await ask(agent)).toEqual({ code: 0, stdout: '', stderr: '' });
}

test('revoked by palyrad itself: the next hook is refused', { timeout: 60_000 }, async () => {
  await using agent = await startHookedAgent();
  await askOften(agent);
  const { device } = credentialOf(agent);
  await agent.palyrad.client(DeviceService, 'operator').revokeDevice({ deviceId: device, reason: 'lost' });
  expect(await ask(agent)).toMatchObject({ code: 2, stdout: '' });
});

test('revoked by another process: hooks are refused within a second', { timeout: 60_000 }, async () => {
  await using agent = await startHookedAgent();
  await askOften(agent);
  await agent.palyrad.revoke(credentialOf(agent));
  const revokedAt = performance.now();
  while (performance.now() - revokedAt < 1_000) await ask(agent);
  const said = await ask(agent);
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(said.stderr).toContain('does not count any more');
});

test('revoked, and the notice of it is lost: hooks are refused within a second', { timeout: 60_000 }, async () => {
  await using agent = await startHookedAgent();
  await askOften(agent);
  // The row alone, as whoever committed it left it before its notice was on its way: nothing tells palyrad to look.
  const database = new DatabaseSync(agent.palyrad.home.database, { timeout: 5_000 });
  const revoke = 'update identity_devices set revoked_at = ?, revoked_by = ?, revoked_reason = ? where id = ?';
  const { changes } = database.prepare(revoke).run(Date.now(), 'user:ada', 'lost', credentialOf(agent).device);
  database.close();
  expect(changes).toBe(1);
  const revokedAt = performance.now();
  while (performance.now() - revokedAt < 1_000) await ask(agent);
  const said = await ask(agent);
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(said.stderr).toContain('does not count any more');
});

/** A hook that waits until a human has answered, and the human. */
async function askHuman(agent: HookedAgent) {
  const approvals = agent.palyrad.client(ApprovalService, 'operator');
  const said = agent.say(agent.event('PreToolUse', 'Teleport', {}, { tool_use_id: crypto.randomUUID() }));
  const open = async () => (await approvals.listApprovals({})).approvals;
  await expect.poll(open, { timeout: 20_000 }).toHaveLength(1);
  const [question] = await open();
  const { approvalId = '', promptSha256 = '' } = question ?? {};
  const approve = async () => {
    const answer = { approve: true, scope: ApprovalScope.ONCE, promptSha256 };
    const { statement } = await approvals.draftDecision({ approvalId, answer });
    const { key } = openOperatorCredential(agent.palyrad.home.identity);
    const signature = new Uint8Array(key.sign(signedBytes(statement)));
    return approvals.recordDecision({ statement, signature });
  };
  return { said, open, approve };
}

test('revoked while a human is asked: the hook is hung up on, and a yes is too late', { timeout: 60_000 }, async () => {
  await using agent = await startHookedAgent();
  const { said, open, approve } = await askHuman(agent);
  await agent.palyrad.revoke(credentialOf(agent));
  await Promise.race([said, sleep(5_000)]);
  // Where nobody has hung up by now, this is what lets the tool run.
  await approve().catch(() => undefined);
  expect(await said).toMatchObject({ code: 2, stdout: '' });
  expect(await open()).toEqual([]);
});
