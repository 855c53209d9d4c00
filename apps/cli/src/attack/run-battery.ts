import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, Run } from '@palyra/client';
import { CliError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import { findHome } from '../find-home.ts';
import { loadIdentity } from '../identity-home.ts';
import { withDaemon } from '../reach-daemon.ts';
import { findRunning } from '../start-daemon.ts';
import { verifyTarget } from '../verify-target.ts';
import { tryApproval, tryJournalEdit, tryMetadata, tryPersistence } from './answered-attacks.ts';
import { type AttackRow, type AttackTargets, CANARY, judgeAttempt } from './attack-row.ts';
import { ATTACKER, makeAttempt } from './make-attempt.ts';
import { PROGRAMMED_ATTACKS } from './programmed-attacks.ts';

/** More than the default profile lets a command have. */
const TOO_MANY_PROCESSES = 600;

/**
 * On a home, a user's home and a palyrad that are made for this and thrown away. Throws `cli.not_available` where the program that
 * attacks is not there.
 */
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
  await copyFile(await attackerProgram(), join(workspace, ATTACKER));
}

async function attackerProgram(): Promise<string> {
  const { findAttacker } = await import('@palyra/sandbox');
  const program = findAttacker();
  if (program !== undefined) return program;
  throw new CliError('cli.not_available', 'palyra-attacker is not compiled on this host.', {
    fix: 'Run: npm run setup',
  });
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
  const neighbour = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 60_000)'], {
    env: { [CANARY]: 'secret' },
    stdio: 'ignore',
  });
  cleanUp.defer(() => void neighbour.kill());
  await once(neighbour, 'spawn');
  const { port } = server.address() as AddressInfo;
  const hostPid = neighbour.pid ?? 0;
  // SECURITY: T-20 — what is not there would be found by nobody, box or no box.
  if (!(await readFile(`/proc/${hostPid}/environ`, 'utf8')).includes(`${CANARY}=`))
    throw new CliError('cli.not_available', 'No process could be started that an attack may look for.');
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
  for (const attack of PROGRAMMED_ATTACKS) {
    context.terminal?.progress(`Trying to ${attack.attempt} ...`);
    rows.push(judgeAttempt(attack, await makeAttempt(run, attack.words(targets))));
  }
  rows.push(
    await tryMetadata(run),
    await tryPersistence(run, workspace),
    await tryApproval(run, { agent, operator, credential }),
  );
  return rows;
}
