import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Run } from '@palyra/client';
import type { CommandContext } from '../command.ts';
import { findHome } from '../find-home.ts';
import { loadIdentity } from '../identity-home.ts';
import { withDaemon } from '../reach-daemon.ts';
import { findRunning } from '../start-daemon.ts';
import { verifyTarget } from '../verify-target.ts';
import { tryApproval, tryJournalEdit, tryMetadata, tryPersistence } from './answered-attacks.ts';
import { type AttackRow, type AttackTargets, CANARY, judgeScript } from './attack-row.ts';
import { SCRIPTED_ATTACKS, scriptOf } from './scripted-attacks.ts';

/** More than the default profile lets a command have. */
const TOO_MANY_PROCESSES = 600;

/** On a home, a user's home and a palyrad that are made for this and thrown away. */
export async function runBattery(context: CommandContext): Promise<readonly AttackRow[]> {
  const root = await mkdtemp(join(tmpdir(), 'palyra-attack-'));
  // As /home is: started by root, tools are somebody else, who has to find the workspace.
  await chmod(root, 0o755);
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(() => rm(root, { recursive: true, force: true }));
  const person = join(root, 'operator');
  const workspace = join(person, 'project');
  await furnish(person, workspace);
  const there: CommandContext = {
    ...context,
    home: join(root, 'home'),
    variables: { ...context.variables, HOME: person, PALYRA_HOME: join(root, 'home'), [CANARY]: 'secret' },
    userHome: () => person,
    workingDirectory: () => workspace,
  };
  const { home } = findHome(there);
  const targets = await openTargets({ person, outsideFile: join(person, 'diary.txt'), palyraHome: home.root }, cleanUp);
  let remembered = '';
  const rows = await withDaemon(there, 'operator', async ({ client: operator }) => {
    try {
      await operator.workspaces.add(workspace);
      const tried = await withDaemon(there, 'agent', ({ client: agent }) =>
        tryAll({ agent, operator, targets, workspace, context: there }),
      );
      remembered = (await operator.journal.checkpoint()).note;
      return tried;
    } finally {
      await operator.shutdown('now');
    }
  });
  while ((await findRunning(home)) !== undefined) await sleep(20);
  const input = { pins: { witnesses: [], checkpoints: [remembered] }, start: undefined };
  const verify = async () => (await verifyTarget(undefined, input, there)).report.kind;
  return [...rows, await tryJournalEdit(home.database, verify)];
}

async function furnish(person: string, workspace: string): Promise<void> {
  await mkdir(join(workspace, '.git/hooks'), { recursive: true });
  await mkdir(join(person, '.ssh'), { mode: 0o700 });
  await writeFile(join(person, '.ssh/id_canary'), 'secret\n', { mode: 0o644 });
  await writeFile(join(person, 'diary.txt'), 'secret\n');
  for (const name of ['objects', 'refs']) await mkdir(join(workspace, '.git', name));
  await writeFile(join(workspace, '.git/HEAD'), 'ref: refs/heads/main\n');
  await writeFile(join(workspace, '.git/config'), '[core]\n\trepositoryformatversion = 0\n\tbare = false\n');
  await writeFile(join(workspace, '.env'), 'TOKEN=secret\n');
}

interface Places {
  readonly person: string;
  readonly outsideFile: string;
  readonly palyraHome: string;
}

async function openTargets(
  { person, outsideFile, palyraHome }: Places,
  cleanUp: AsyncDisposableStack,
): Promise<AttackTargets> {
  const server = createServer((socket) => socket.destroy());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  cleanUp.defer(() => void server.close());
  const neighbour = spawn('/bin/sleep', ['600'], { env: { [CANARY]: 'secret' }, stdio: 'ignore' });
  cleanUp.defer(() => void neighbour.kill());
  const { port } = server.address() as AddressInfo;
  const hostPid = neighbour.pid ?? 0;
  return { outsideFile, userHome: person, palyraHome, port, hostPid, processes: TOO_MANY_PROCESSES };
}

interface Battery {
  readonly agent: Client;
  readonly operator: Client;
  readonly targets: AttackTargets;
  readonly workspace: string;
  readonly context: CommandContext;
}

async function tryAll({ agent, operator, targets, workspace, context }: Battery): Promise<readonly AttackRow[]> {
  const { openAgentCredential } = await loadIdentity();
  const credential = openAgentCredential(findHome(context).home.identity);
  await using run: Run = await agent.startRun({ workspace });
  const rows: AttackRow[] = [];
  for (const attack of SCRIPTED_ATTACKS) {
    context.terminal?.progress(`Trying to ${attack.attempt} ...`);
    const { outcome } = await run.call('palyra.process.run', { argv: ['/bin/bash', '-c', scriptOf(attack, targets)] });
    rows.push(
      judgeScript(attack, { stdout: outcome.stdout ?? '', how: 'code' in outcome ? outcome.code : outcome.kind }),
    );
  }
  rows.push(
    await tryMetadata(run),
    await tryPersistence(run, workspace),
    await tryApproval(run, { agent, operator, credential }),
  );
  return rows;
}
