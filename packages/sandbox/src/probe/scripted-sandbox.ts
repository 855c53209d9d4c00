import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { CgroupDriver } from '../cgroup/detect-cgroups.ts';
import type { Sandbox } from '../create-sandbox.ts';
import type { MeasuredFacts, ProcessFacts } from '../facts/measured-facts.ts';
import type { Ran, Refusal, RunResult } from '../run-result.ts';
import { SandboxError } from '../sandbox-error.ts';
import type { ProbeContext } from './inspect.ts';

/** A host for the tests of probes: all is well but for what a test says. */
export interface Scene {
  readonly facts?: Partial<MeasuredFacts>;
  readonly tool?: Partial<ProcessFacts>;
  readonly init?: Partial<ProcessFacts>;
  readonly answers?: Readonly<Record<string, string>>;
  readonly mounts?: readonly string[];
  readonly isInexact?: true;
  readonly refusesAgents?: true;
  readonly refusal?: Refusal;
  readonly leavesRunaway?: true;
  readonly landlockVersion?: number;
  readonly cgroups?: CgroupDriver;
}

export const LAUNCHER_UID = 1000;

const PROCESS: Omit<ProcessFacts, 'role'> = {
  uid: 870_000,
  gid: 870_000,
  groups: [],
  capabilities: '0000000000000000',
  noNewPrivileges: true,
  seccomp: 2,
  namespaces: ['user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup'],
};

const CGROUP: MeasuredFacts['cgroup'] = {
  driver: 'v2',
  memory: 'tree',
  processes: 'tree',
  cpu: 'tree',
  limits: { 'memory.max': '4294967296', 'pids.max': '512', 'cpu.max': '100000 100000' },
};

const ANSWERS = { keep_home: 'yes', keep_temporary: 'yes', keep_work: 'yes', find_unshare: 'yes' };
const REFUSED_TO = [
  'write_system',
  'write_root',
  'write_settings',
  'read_outside',
  'nest_namespaces',
  'read_hidden',
  'look_into_peer',
  'signal_peer',
  'find_variable',
  'find_descriptor',
];
const MOUNTS = [
  '90 65 0:41 /newroot / ro,nosuid - tmpfs tmpfs rw',
  '102 94 0:45 / /dev/shm rw,nosuid - tmpfs tmpfs rw,size=1048576k',
  '103 90 0:46 / /tmp rw,nosuid - tmpfs tmpfs rw,size=1048576k',
  '110 103 254:0 /w /w rw,nosuid - ext4 /dev/vda rw,discard',
];

let scenes = 0;
const left: ChildProcess[] = [];

export function sceneContext(scene: Scene = {}): ProbeContext {
  scenes += 1;
  return {
    sandbox: sandboxOf(scene),
    place: {
      workspace: '/tmp/w',
      outside: '/tmp/outside',
      mark: `palyra-scene-${process.pid}-${scenes}`,
      remove: () => undefined,
    },
    bubblewrap: { path: '/usr/bin/bwrap', version: '0.8.0' },
    launcherSha256: 'ab'.repeat(32),
  };
}

/** After a test with `leavesRunaway`. */
export function endRunaways(): void {
  for (const child of left.splice(0)) child.kill('SIGKILL');
}

function sandboxOf(scene: Scene): Sandbox {
  const driver: CgroupDriver = scene.cgroups ?? {
    kind: 'v2',
    directory: '/sys/fs/cgroup/x',
    controllers: [],
    files: [],
  };
  const { landlockVersion = 7 } = scene;
  return {
    about: {
      launcher: { pid: 1, startTicks: 1, uid: LAUNCHER_UID, gid: LAUNCHER_UID, landlockVersion },
      cgroups: driver,
      bubblewrap: '/usr/bin/bwrap',
    } as Sandbox['about'],
    openGate: () => Promise.reject(new SandboxError('sandbox.gate_closed', 'A probe has no gate.')),
    bind: () => Promise.resolve(NOT_FOR_AGENTS),
    plan: () => Promise.resolve(NOT_FOR_AGENTS),
    async run({ argv, environment = {} }, { startedFor }, options = {}): Promise<RunResult> {
      if (scene.refusal !== undefined) return scene.refusal;
      if (scene.refusesAgents === true && startedFor === 'agent') return NOT_FOR_AGENTS;
      const isRunaway = argv.some((text) => text.includes('sleep 600'));
      if (!isRunaway) return ended(scene);
      await runAway(environment['PROBE_MARK'] ?? '', { ...options, isLeft: scene.leavesRunaway === true });
      return { kind: 'cancelled', ...ran(scene, '') };
    },
    warmed: async () => 0,
    close: () => Promise.resolve(),
  };
}

const NOT_FOR_AGENTS: Refusal = {
  kind: 'refused',
  code: 'sandbox.unsupported',
  message: 'Not for agents.',
  fix: 'Use C.',
};

interface Runaway {
  readonly signal?: AbortSignal;
  readonly isLeft: boolean;
  onOutput?(stream: 'stdout' | 'stderr', bytes: Uint8Array): void | Promise<void>;
}

/** A real process of that name, for the probe looks into the real /proc. */
async function runAway(mark: string, { signal, isLeft, onOutput }: Runaway): Promise<void> {
  const child = spawn('/bin/sleep', ['600'], { argv0: mark, stdio: 'ignore' });
  await once(child, 'spawn');
  // For a moment after exec it has no name yet.
  while (readFileSync(`/proc/${child.pid}/cmdline`, 'utf8') === '') await new Promise(setImmediate);
  await onOutput?.('stdout', Buffer.from('ready\n'));
  if (isLeft) left.push(child);
  if (isLeft || signal?.aborted !== true) return;
  child.kill('SIGKILL');
  await once(child, 'close');
}

function ended(scene: Scene): RunResult {
  const refused = Object.fromEntries(REFUSED_TO.map((name) => [name, 'no']));
  const answers = { ...ANSWERS, ...refused, ...scene.answers };
  const lines = [
    ...Object.entries(answers).map(([name, answer]) => `${name}=${answer}`),
    ...(scene.mounts ?? MOUNTS).map((line) => `mount=${line}`),
  ];
  const facts = ran(scene, `${lines.join('\n')}\n`);
  return scene.isInexact === true
    ? { kind: 'signalled', signal: 'SIGKILL', ...facts }
    : { kind: 'completed', exitCode: 137, ...facts };
}

function ran(scene: Scene, stdout: string): Ran {
  return {
    executor: 'scripted',
    enforcement: { fileSystem: 'isolated', network: 'isolated' },
    output: { stdout: Buffer.from(stdout), stderr: Buffer.alloc(0) },
    usage: { wallMs: 1, userMs: 1, systemMs: 1, maxRssBytes: 1, outputBytes: 1 },
    protectedChanged: [],
    facts: {
      processes: [
        { role: 'tool', ...PROCESS, ...scene.tool },
        { role: 'init', ...PROCESS, ...scene.init },
      ],
      mountTableSha256: 'cd'.repeat(32),
      network: 'isolated',
      rlimits: { cpu: 601, nofile: 4096, fsize: 4_294_967_296, nproc: 513, core: 0 },
      cgroup: CGROUP,
      landlock: { rules: 200 },
      listener: 'none',
      ...scene.facts,
    },
    startedAt: 0,
    pooled: false,
    endedAt: 0,
  };
}
