// The rows of `palyra doctor --attack` that are no scripts, each played for real where what should stop it is switched off: a row
// that cannot turn red proves nothing.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { WorkspaceService } from '@palyra/api';
import { connect, type Run } from '@palyra/client';
import { openAgentCredential, openOperatorCredential } from '@palyra/identity';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  tryApproval,
  tryJournalEdit,
  tryMetadata,
  tryPersistence,
} from '../../apps/cli/src/attack/answered-attacks.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';

let palyrad: PalyradProcess;
let workspace: string;

/** Nothing but this opens the address: no policy does. */
const METADATA_OPEN = '[egress]\nprivate_ranges = "169.254.169.254:80"\n';

beforeAll(async () => {
  palyrad = await startPalyrad({ config: METADATA_OPEN });
  workspace = join(palyrad.root, 'work');
  for (const name of ['hooks', 'objects', 'refs']) await mkdir(join(workspace, '.git', name), { recursive: true });
  await writeFile(join(workspace, '.git/HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(workspace, '.env'), 'TOKEN=secret\n');
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
}, 60_000);
afterAll(() => palyrad[Symbol.asyncDispose]());

const as = (who: 'agent' | 'operator') => connect({ home: palyrad.home.root, as: who });

test('metadata: an operator who let it be reached has a human asked about it', async () => {
  using agent = await as('agent');
  await using run = await agent.startRun({ workspace });
  expect(await tryMetadata(run)).toMatchObject({ id: 'metadata', status: 'open', observed: 'A human is asked.' });
});

test('persistence: without a box the hook is there afterwards, and with one it is not', async () => {
  using agent = await as('agent');
  await using boxed = await agent.startRun({ workspace });
  expect(await tryPersistence(boxed, workspace)).toMatchObject({ id: 'persistence', status: 'stopped' });
  const unboxed = {
    async call(_tool: string, { argv: [program, ...rest] }: { readonly argv: readonly [string, ...string[]] }) {
      await promisify(execFile)(program, rest, { cwd: workspace });
    },
  };
  const row = await tryPersistence(unboxed as unknown as Run, workspace);
  expect(row).toMatchObject({ id: 'persistence', status: 'open', observed: 'The hook is there.' });
});

test('approval: whoever has the operator’s connection and key is taken for a human, and the agent is not', async () => {
  using agent = await as('agent');
  using operator = await as('operator');
  const { identity } = palyrad.home;
  // Each in a session of its own: an answer that was given and not used yet is one for the next call like it.
  const attempt = async (by: Parameters<typeof tryApproval>[1]) => {
    await using run = await agent.startRun({ workspace });
    return await tryApproval(run, by);
  };
  const human = { agent: operator, operator, credential: openOperatorCredential(identity) };
  const asHuman = await attempt(human);
  expect(asHuman).toMatchObject({ id: 'approval', status: 'open', observed: 'decided; 0 open' });
  const asItself = await attempt({ agent, operator, credential: openAgentCredential(identity) });
  expect(asItself).toMatchObject({ status: 'stopped' });
  // Its own key on the operator's connection is no human either: that is refused elsewhere, and is not what was expected.
  const halfway = await attempt({ ...human, credential: openAgentCredential(identity) });
  expect(halfway.observed).not.toContain('decided');
});

test('journal: a database that is asked alone finds its record sound, edited or not', async () => {
  using agent = await as('agent');
  const run = await agent.startRun({ workspace });
  // Something that was refused is on record: that is the word which is changed.
  const refused = await run.call('palyra.fs.read', { path: '/etc/shadow' });
  expect(refused.outcome.kind).toBe('refused');
  await run.end();
  using operator = await as('operator');
  await operator.shutdown('now');
  await palyrad.ended();
  const { database } = palyrad.home;
  const row = await tryJournalEdit(database, async () => {
    using opened = new DatabaseSync(database);
    const [{ integrity_check: found } = { integrity_check: '' }] = opened.prepare('PRAGMA integrity_check').all();
    return found === 'ok' ? 'sound' : 'broken';
  });
  expect(row).toMatchObject({ id: 'journal', status: 'open', observed: 'sound before, sound afterwards' });
  expect(await tryJournalEdit(join(palyrad.root, 'nothing'), async () => 'sound')).toMatchObject({
    status: 'open',
    observed: 'sound before, nothing to change afterwards',
  });
});
