// The rows of `palyra doctor --attack` that need a palyrad, each played for real where what should stop it is switched off: a row
// that cannot turn red proves nothing.
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WorkspaceService } from '@palyra/api';
import { connect } from '@palyra/client';
import { openAgentCredential, openOperatorCredential } from '@palyra/identity';
import { findAttacker } from '@palyra/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tryApproval, tryMetadata, tryPersistence } from '../../apps/cli/src/attack/answered-attacks.ts';
import { judgeAttempt } from '../../apps/cli/src/attack/attack-row.ts';
import { ATTACKER, makeAttempt } from '../../apps/cli/src/attack/make-attempt.ts';
import { PROGRAMMED_ATTACKS } from '../../apps/cli/src/attack/programmed-attacks.ts';
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

test('SECURITY: T-20 — in a box without the attacker no row says that anything was stopped', async () => {
  using agent = await as('agent');
  await using run = await agent.startRun({ workspace });
  const targets = { outsideFile: '/x', userHome: '/x', palyraHome: '/x', port: 1, hostPid: 1, processes: 600 };
  for (const attack of PROGRAMMED_ATTACKS) {
    const row = judgeAttempt(attack, await makeAttempt(run, attack.words(targets)));
    expect(row, `row ${attack.id}`).toMatchObject({
      status: 'open',
      observed: expect.stringContaining('could not be tried'),
    });
  }
  for (const row of [await tryPersistence(run, workspace), await tryMetadata(run)])
    expect(row).toMatchObject({ status: 'open', observed: expect.stringContaining('could not be tried') });
});

test('metadata: an operator who let it be reached has a human asked about it', async () => {
  await copyFile(findAttacker() ?? '', join(workspace, ATTACKER));
  using agent = await as('agent');
  await using run = await agent.startRun({ workspace });
  expect(await tryMetadata(run)).toMatchObject({ id: 'metadata', status: 'open', observed: 'A human is asked.' });
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
