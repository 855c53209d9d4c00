import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JournalService, RunService, StatusService } from '@palyra/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HookedAgent, startHookedAgent } from '../hooked-agent.ts';

let agent: HookedAgent;

beforeAll(async () => {
  agent = await startHookedAgent();
}, 60_000);

afterAll(() => agent[Symbol.asyncDispose]());

const SILENT = { code: 0, stdout: '', stderr: '' };

interface Record {
  readonly outcome: string;
  readonly code: string;
  readonly executor: string;
  readonly enforcement: string;
  readonly coverage: string;
}

/** Of the calls of all runs, oldest first. */
async function attested(): Promise<readonly Record[]> {
  const runs = agent.palyrad.client(RunService, 'operator');
  const { runs: all } = await runs.listRuns({});
  const calls = await Promise.all(all.map(async ({ runId }) => (await runs.getRun({ runId })).calls));
  const ids = calls.flat().map(({ callId }) => callId);
  const pages = await Promise.all(ids.toSorted().map((callId) => runs.getCall({ callId })));
  return pages.map(({ result }) => ({
    outcome: String(result?.outcome?.kind),
    code: result?.outcome?.code ?? '',
    executor: result?.attestation?.executor ?? '',
    enforcement: result?.attestation?.sandboxEnforcement ?? '',
    coverage: result?.attestation?.coverage ?? '',
  }));
}

test('an agent’s own tool is decided before, and attested as the agent reports it', async () => {
  const input = { file_path: join(agent.workspace, 'a.txt'), content: 'x' };
  const own = { executor: 'client_reported', enforcement: 'none', coverage: 'hooked' };
  const before = (id: string) => agent.say(agent.event('PreToolUse', 'Write', input, { tool_use_id: id }));
  const after = (name: string, id: string, more: object) =>
    agent.say({
      ...(agent.event('PostToolUse', 'Write', input, { tool_use_id: id }) as object),
      hook_event_name: name,
      ...more,
    });

  expect(await before('one')).toEqual(SILENT);
  expect(await before('two')).toEqual(SILENT);
  expect(await before('three')).toEqual(SILENT);
  // Out of order: each by its own id.
  expect(await after('PostToolUseFailure', 'two', { error: 'disk full' })).toEqual(SILENT);
  expect(await after('PostToolUse', 'one', { tool_response: { success: true } })).toEqual(SILENT);
  // Nobody waits for it: it decides nothing, and is no call.
  expect(await after('PostToolUse', 'four', { tool_response: {} })).toEqual(SILENT);
  expect(await agent.say({ hook_event_name: 'SessionEnd', session_id: 'one', cwd: agent.workspace })).toEqual(SILENT);

  expect(await attested()).toEqual([
    { ...own, outcome: '1', code: '' },
    { ...own, outcome: '2', code: 'gateway.client_failed' },
    { ...own, outcome: '7', code: 'gateway.not_reported' },
  ]);
  const status = await agent.palyrad.client(StatusService, 'operator').getStatus({});
  expect(status.agents).toMatchObject([{ principal: 'agent:local', coverage: 'hooked', openRuns: 0 }]);
  const { entries } = await agent.palyrad.client(JournalService, 'operator').queryEntries({ limit: 1000 });
  expect(entries.filter(({ kind }) => kind === 'attestation')).toHaveLength(3);
});

test('what a person wrote while an edit was never reported is not taken for the agent’s, and undoing leaves it', async () => {
  const file = join(agent.workspace, 'shared.txt');
  const session = { session_id: 'silent', cwd: agent.workspace };
  const say = (name: 'PreToolUse' | 'PostToolUse', id: string, more = {}) =>
    agent.say(agent.event(name, 'Write', { file_path: file, content: 'x' }, { ...session, tool_use_id: id, ...more }));
  writeFileSync(file, 'at first');
  expect(await say('PreToolUse', 'told')).toEqual(SILENT);
  writeFileSync(file, 'by the agent');
  expect(await say('PostToolUse', 'told', { tool_response: { success: true } })).toEqual(SILENT);
  // This one fails, and its client has no event for that.
  expect(await say('PreToolUse', 'untold')).toEqual(SILENT);
  writeFileSync(file, 'by a person');
  expect(await agent.say({ hook_event_name: 'SessionEnd', ...session })).toEqual(SILENT);

  const runs = agent.palyrad.client(RunService, 'operator');
  const { files } = await runs.undoRun({ workspace: agent.workspace });
  expect(files).toMatchObject([{ path: 'shared.txt', result: 'skipped', reason: 'It changed since.' }]);
  expect(readFileSync(file, 'utf8')).toBe('by a person');
});
