import { mkdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { addModule, parseConfig } from '@palyra/config';
import type { Caller } from '@palyra/gateway';
import { createIdSource } from '@palyra/primitives';
import type { SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import { measureSeparation, type Separation } from '../../apps/daemon/src/service/measure-separation.ts';
import { startService } from '../../apps/daemon/src/service/start-service.ts';

/** Started as root by service-place.ts: a palyrad without listeners, as its main program will start it. */
export interface ServiceSettings {
  readonly state: string;
  readonly workspace: string;
  readonly daemon: { readonly uid: number; readonly gid: number };
  readonly owner: { readonly uid: number; readonly gid: number; readonly home: string };
  /** palyra.toml. */
  readonly toml: string;
}

export type ServiceOrder =
  | { readonly act: 'call'; readonly tool: string; readonly input: object }
  | { readonly act: 'undo' }
  /** Put into palyrad's home, as its operator does it. */
  | { readonly act: 'install'; readonly name: string; readonly base64: string; readonly grants: ModuleGrants }
  | {
      readonly act: 'run';
      readonly command: SandboxCommand;
      readonly profile: SandboxProfile;
      readonly isBound: boolean;
    }
  /** With a gate of the label-gate program, which is closed afterwards; what the gate said comes along. */
  | {
      readonly act: 'way_out';
      readonly gate: string;
      readonly command: SandboxCommand;
      readonly profile: SandboxProfile;
    }
  | { readonly act: 'read'; readonly path: string }
  /** Every way back that there is. */
  | { readonly act: 'become_root' }
  | { readonly act: 'close' };

type ModuleGrants = Parameters<typeof addModule>[1]['grants'];

export interface ServiceFacts {
  readonly pid: number;
  readonly launcherPid: number;
  readonly separation: Separation;
}

const settings = JSON.parse(process.argv[2] ?? '{}') as ServiceSettings;
const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`);

const accounts = new Map([
  ['palyra', { name: 'palyra', home: '/nonexistent', ...settings.daemon }],
  ['ada', { name: 'ada', ...settings.owner }],
]);
const service = await startService({
  daemon: 'palyra',
  owner: 'ada',
  state: settings.state,
  path: '/usr/bin:/bin',
  accountOf: (name) => accounts.get(name),
  logger: { error: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`) },
  pool: 'off',
}).catch((error: { code: string; message: string }) => {
  say({ refused: error.code, message: error.message });
  process.exit(1);
});

// Only now: everything else is loaded, opened and read without root.
const { composeDaemon } = await import('@palyra/daemon');
const { createFakeCredentials } = await import('../../packages/testkit/src/fake-credentials.ts');
const { parseActor } = await import('@palyra/journal');
const { home, operator, sandbox } = service;
mkdirSync(home.policies, { recursive: true, mode: 0o700 });
const credentials = createFakeCredentials();
const ada = credentials.issue('ada-laptop', { person: 'user:ada', device: createIdSource().newId('device') });
const daemon = await composeDaemon({
  home,
  operator,
  sandbox,
  config: parseConfig(settings.toml, 'palyra.toml').config,
  verify: credentials.verify,
  log: { level: 'error' },
});
const separation = measureSeparation({
  home: home.root,
  launcher: sandbox.about.launcher,
  others: [settings.owner.uid],
});
const AGENT: Caller = {
  principal: { type: 'Agent', id: 'coder' },
  actor: parseActor('agent:coder'),
  groups: [],
  credential: 'local-agent',
  coverage: 'direct',
  separation: separation.level,
};
const run = await daemon.gateway.startRun(AGENT, { workspace: { id: 'work', root: settings.workspace } });

async function approveAll(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const cards = await daemon.approvals.pending({ limit: 1 });
    for (const { approvalId, shown } of cards) {
      await daemon.approvals.decide(approvalId, { decision: 'approve', scope: 'once', shown, by: ada });
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function call(tool: string, input: object): Promise<unknown> {
  let isOver = false;
  const pending = run.call({ tool, input: JSON.stringify(input), agentSays: 'For the task.' });
  const [result] = await Promise.all([pending.finally(() => (isOver = true)), approveAll(() => isOver)]);
  const { decision, outcome, attestation } = result;
  return { decision, outcome, attestation };
}

async function runCommand(command: SandboxCommand, profile: SandboxProfile, isBound: boolean): Promise<unknown> {
  const bound = isBound ? await sandbox.bind(command, profile) : undefined;
  if (bound?.kind === 'refused') return bound;
  const result = await sandbox.run(command, profile, bound === undefined ? {} : { bound });
  if (!('output' in result)) return result;
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('utf8');
  return { ...result, output: { stdout: text(result.output.stdout), stderr: text(result.output.stderr) } };
}

async function runWithWayOut({ gate: program, command, profile }: Extract<ServiceOrder, { act: 'way_out' }>) {
  const gate = await sandbox.openGate({ argv: [process.execPath, program], environment: {} });
  let said = '';
  gate.onOutput((bytes) => (said += Buffer.from(bytes).toString()));
  const result = await sandbox.run(command, profile, { wayOut: { gate, label: 'service' } });
  await gate.write(Buffer.from('forget service\n'));
  await gate.close();
  const stdout = 'output' in result ? Buffer.from(result.output.stdout).toString() : '';
  return { kind: result.kind, stdout, listener: 'facts' in result ? result.facts?.listener : undefined, said };
}

function waysBack(): readonly string[] {
  const ways: Readonly<Record<string, () => void>> = {
    setuid: () => process.setuid?.(0),
    seteuid: () => process.seteuid?.(0),
    setgid: () => process.setgid?.(0),
    setegid: () => process.setegid?.(0),
    setgroups: () => process.setgroups?.([0]),
    shadow: () => readFileSync('/etc/shadow'),
  };
  return Object.entries(ways).flatMap(([name, way]) => {
    try {
      way();
      return [name];
    } catch {
      return [];
    }
  });
}

async function obey(order: ServiceOrder): Promise<unknown> {
  switch (order.act) {
    case 'call':
      return call(order.tool, order.input);
    case 'install':
      mkdirSync(home.modules, { recursive: true, mode: 0o700 });
      return addModule(
        home.modules,
        { name: order.name, bytes: Buffer.from(order.base64, 'base64'), grants: order.grants, limits: {} },
        { replace: false },
      );
    case 'undo':
      return daemon.changes.undo({ runId: run.id, fileTools: daemon.fileTools });
    case 'run':
      return runCommand(order.command, order.profile, order.isBound);
    case 'way_out':
      return runWithWayOut(order);
    case 'read':
      return readFileSync(order.path, 'utf8');
    case 'become_root':
      return waysBack();
    case 'close':
      await run.end();
      await daemon.close();
      return 'closed';
  }
}

say({ pid: process.pid, launcherPid: sandbox.about.launcher.pid, separation } satisfies ServiceFacts);
void service.lost.then(({ code }) => say({ lost: code }));
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, ...order } = JSON.parse(line) as ServiceOrder & { readonly id: number };
  obey(order).then(
    (answer) => say({ id, answer }),
    (error: { code?: string; message: string }) => say({ id, answer: { thrown: error.code ?? error.message } }),
  );
});
