/**
 * Stands for palyrad: owns a sandbox and runs the whole battery in it, one JSON line for each result. Started by
 * everyday.test.ts as root and as an ordinary user, so that both ways are one.
 */
import {
  createSandbox,
  DEFAULT_LIMITS,
  type Hint,
  hintsFor,
  type RunResult,
  type Sandbox,
  type SandboxProfile,
} from '@palyra/sandbox';
import { BY_DESIGN } from './by-design.ts';
import { EVERYDAY } from './everyday-commands.ts';
import type { Project } from './project-files.ts';

export interface BatterySettings {
  readonly home: string;
  readonly searchPath: string;
  readonly projects: Readonly<Record<Project, string>>;
}

export interface BatteryLine {
  readonly table: 'everyday' | 'by design' | 'asked';
  readonly name: string;
  readonly kind: RunResult['kind'];
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  readonly hints: readonly Hint[];
  /** Paths. */
  readonly protectedChanged: readonly string[];
}

interface Task {
  readonly table: BatteryLine['table'];
  readonly name: string;
  readonly run: string;
  readonly project: Project;
  readonly terminal?: true;
  readonly asks?: Partial<SandboxProfile>;
}

const settings = JSON.parse(process.argv[2] ?? '') as BatterySettings;

/** The one profile. Nothing in it is there for any of the commands. */
function defaultProfile(root: string): SandboxProfile {
  return {
    tier: 'C',
    workspace: { root, access: 'read-write' },
    readOnlyPaths: [],
    writablePaths: [],
    maskedPaths: [],
    executables: 'any',
    interpreters: 'allowed',
    egress: { mode: 'strict', hosts: [] },
    toolchains: 'operator',
    unixSockets: 'refused',
    limits: DEFAULT_LIMITS,
    mustHold: [],
    environment: [],
    startedFor: 'agent',
  };
}

const tasks: readonly Task[] = [
  ...EVERYDAY.map((command) => ({ table: 'everyday' as const, ...command })),
  ...BY_DESIGN.flatMap(({ name, run, project = 'refused', asks }): Task[] => [
    { table: 'by design', name, run, project },
    ...(asks === undefined ? [] : [{ table: 'asked' as const, name, run, project, asks }]),
  ]),
];

async function runTask(sandbox: Sandbox, { table, name, run, project, terminal, asks }: Task): Promise<void> {
  const profile = { ...defaultProfile(settings.projects[project]), ...asks };
  const command = {
    argv: ['bash', '-c', run],
    ...(terminal === undefined ? {} : { terminal: { rows: 24, columns: 80 } }),
  };
  const result = await sandbox.run(command, profile);
  const { stdout, stderr } =
    'output' in result ? result.output : { stdout: new Uint8Array(), stderr: new Uint8Array() };
  const line: BatteryLine = {
    table,
    name,
    kind: result.kind,
    exitCode: result.kind === 'completed' ? result.exitCode : undefined,
    stdout: Buffer.from(stdout).toString(),
    stderr: Buffer.from(stderr).toString(),
    hints: hintsFor(result),
    protectedChanged: 'protectedChanged' in result ? result.protectedChanged.map(({ path }) => path) : [],
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const { home, searchPath } = settings;
const sandbox = await createSandbox({
  operator: { path: searchPath, home, palyraHome: `${home}/.palyra`, environment: {} },
  logger: console,
});
// What a project's commands leave to the next ones keeps them in order; the projects know nothing of one another.
const byProject = Object.values(Object.groupBy(tasks, ({ project }) => project));
await Promise.all(
  byProject.map(async (own) => {
    for (const task of own) await runTask(sandbox, task);
  }),
);
await sandbox.close();
