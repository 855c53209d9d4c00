// T-41, T-14: while an agent's hooks ask, somebody puts a link, or another folder, where its workspace is, or has credentials of
// the operator's lead into it. palyrad remembers for a second what lies around a workspace, and never what is at its place.
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type HookedAgent, type Said, startHookedAgent } from '../hooked-agent.ts';

/** With a home of the operator's that this test may change. */
async function start(): Promise<HookedAgent> {
  return startHookedAgent({
    environment({ root }) {
      mkdirSync(join(root, '../operator'));
      // oxlint-disable-next-line node/no-process-env -- what the test has, but for the home
      return { ...(process.env as Record<string, string>), HOME: join(root, '../operator') };
    },
  });
}

/** What is never reported palyrad would wait for when it ends. */
async function ask(agent: HookedAgent): Promise<Said> {
  const [input, more] = [{ file_path: 'a.txt' }, { tool_use_id: crypto.randomUUID() }];
  const said = await agent.say(agent.event('PreToolUse', 'Read', input, more));
  if (said.code === 0) await agent.say(agent.event('PostToolUse', 'Read', input, { ...more, tool_response: {} }));
  return said;
}

/** Often enough that palyrad remembers it. */
async function askOften(agent: HookedAgent): Promise<void> {
  for (let i = 0; i < 3; i += 1) expect(await ask(agent)).toEqual({ code: 0, stdout: '', stderr: '' });
}

test('a link in its place: the next hook is refused', { timeout: 60_000 }, async () => {
  await using agent = await start();
  await askOften(agent);
  renameSync(agent.workspace, `${agent.workspace}-moved`);
  symlinkSync(`${agent.workspace}-moved`, agent.workspace);
  expect(await ask(agent)).toMatchObject({ code: 2, stdout: '' });
  rmSync(agent.workspace);
  renameSync(`${agent.workspace}-moved`, agent.workspace);
  expect(await ask(agent)).toEqual({ code: 0, stdout: '', stderr: '' });
});

test('credentials that lead into it: hooks are refused within a second', { timeout: 60_000 }, async () => {
  await using agent = await start();
  await askOften(agent);
  mkdirSync(join(agent.workspace, 'keys'));
  symlinkSync(join(agent.workspace, 'keys'), join(agent.palyrad.root, 'operator/.aws'));
  const changedAt = performance.now();
  while (performance.now() - changedAt < 1_000) await ask(agent);
  const said = await ask(agent);
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(said.stderr).toContain('a place of credentials');
});

test('another folder in its place is looked at at once', { timeout: 60_000 }, async () => {
  await using agent = await start();
  await askOften(agent);
  renameSync(agent.workspace, `${agent.workspace}-moved`);
  mkdirSync(join(agent.workspace, 'keys'), { recursive: true });
  symlinkSync(join(agent.workspace, 'keys'), join(agent.palyrad.root, 'operator/.aws'));
  const said = await ask(agent);
  expect(said).toMatchObject({ code: 2, stdout: '' });
  expect(said.stderr).toContain('a place of credentials');
});
