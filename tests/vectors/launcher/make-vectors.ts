/** Requests as the launcher gets them: `node --conditions=palyra-source tests/vectors/launcher/make-vectors.ts` writes them. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { planBubblewrap } from '../../../packages/sandbox/src/backends/bubblewrap/plan.ts';
import { planLimits } from '../../../packages/sandbox/src/backends/limits/plan.ts';
import type { CgroupDriver } from '../../../packages/sandbox/src/cgroup/detect-cgroups.ts';
import { jobNameOf } from '../../../packages/sandbox/src/cgroup/job-name.ts';
import { planCgroups } from '../../../packages/sandbox/src/cgroup/plan-cgroups.ts';
import type { SandboxCommand } from '../../../packages/sandbox/src/command.ts';
import type { LaunchPlan } from '../../../packages/sandbox/src/launch-plan.ts';
import { encodeGate, encodeRequest, encodeTool, encodeWord } from '../../../packages/sandbox/src/launcher/encode-request.ts';
import { encodeSignal } from '../../../packages/sandbox/src/launcher/passed-signals.ts';
import { DEFAULT_LIMITS, type SandboxProfile } from '../../../packages/sandbox/src/profile.ts';
import type { HostSurvey } from '../../../packages/sandbox/src/survey/host-survey.ts';

/** By file name. Real plans for an invented host, so that every machine makes the same ones. */
export function launcherVectors(): ReadonlyMap<string, Buffer> {
  return new Map([
    ['tier-b-ordinary-user.bin', encodeRequest(tierB(ORDINARY), { stdin: false })],
    ['tier-b-root.bin', encodeRequest(tierB(ROOT), { stdin: true })],
    ['tier-c-ordinary-user.bin', encodeRequest(tierC(ORDINARY), { stdin: false })],
    ['tier-c-root.bin', encodeRequest(tierC(ROOT), { stdin: true })],
    ['tier-c-terminal.bin', encodeRequest(tierC(ROOT, { rows: 24, columns: 80 }), { stdin: true })],
    ['tier-c-waiting.bin', encodeRequest(tierC(ROOT), { stdin: true, toolLaterMs: 60_000 })],
    ['tier-c-way-out.bin', encodeRequest(tierC(ROOT, undefined, { wayOut: true }), { stdin: false })],
    ['tier-c-way-out-waiting.bin', encodeRequest(tierC(ORDINARY, undefined, { wayOut: true }), { stdin: true, toolLaterMs: 60_000 })],
    ['gate-root.bin', encodeGate({ tool: GATE, identity: ROOT.identity, staged: [] })],
    ['gate-handed-over.bin', encodeGate({ tool: GATE, identity: ROOT.identity, staged: [GATE_CODE] })],
    ['gate-ordinary-user.bin', encodeGate({ tool: GATE, identity: undefined, staged: [] })],
    // Not a request: what comes with the word to one that waits.
    ['word-tool.bin', encodeTool(tierC(ROOT).tool, { stdin: false })],
    ['word-tool-with-input.bin', encodeTool(tierC(ORDINARY).tool, { stdin: true })],
    ['word-way-out.bin', encodeWord({ wayOut: WAY_OUT })],
    ['word-tool-way-out.bin', encodeWord({ tool: { ...tierC(ROOT).tool, stdin: true }, wayOut: WAY_OUT })],
    ['word-hand-over.bin', encodeWord({ wayOut: WAY_OUT, handOver: true })],
    // And one byte that names a signal.
    ['signal-terminate.bin', encodeSignal('SIGTERM')],
  ]);
}

interface InventedHost {
  readonly identity: HostSurvey['identity'];
  readonly driver: CgroupDriver;
}

const ROOT: InventedHost = {
  identity: { uid: 870_000, gid: 870_000 },
  driver: {
    kind: 'v1',
    hierarchies: [
      {
        directory: '/sys/fs/cgroup/memory/palyra',
        controllers: ['memory'],
        files: ['memory.memsw.limit_in_bytes'],
        cpuCeilingMilli: undefined,
      },
      { directory: '/sys/fs/cgroup/pids', controllers: ['pids'], files: [], cpuCeilingMilli: undefined },
      { directory: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'], files: [], cpuCeilingMilli: 1000 },
    ],
  },
};

const ORDINARY: InventedHost = {
  identity: undefined,
  driver: {
    kind: 'v2',
    directory: '/sys/fs/cgroup/user.slice/palyrad.service',
    controllers: ['memory', 'pids', 'cpu'],
    files: ['memory.swap.max', 'memory.oom.group', 'memory.peak'],
  },
};

const PROFILE: SandboxProfile = {
  tier: 'C',
  workspace: { root: '/srv/my shop', access: 'read-write' },
  readOnlyPaths: ['/opt/data'],
  writablePaths: ['/var/cache/shop'],
  maskedPaths: ['/srv/my shop/.env'],
  executables: 'any',
  interpreters: 'allowed',
  egress: { mode: 'strict', hosts: [] },
  toolchains: 'operator',
  unixSockets: 'refused',
  limits: DEFAULT_LIMITS,
  mustHold: [],
  environment: ['CI'],
  startedFor: 'agent',
};

const COMMAND = { argv: ['sh', '-c', 'npm test && echo "fertig ✓"'], environment: { CI: '1' } };

function tierB(host: InventedHost): LaunchPlan {
  const profile: SandboxProfile = { ...PROFILE, tier: 'B', egress: { mode: 'none', hosts: [] } };
  return planLimits(COMMAND, profile, surveyOf(host));
}

function tierC(
  host: InventedHost,
  terminal?: SandboxCommand['terminal'],
  added: Pick<HostSurvey, 'wayOut'> = {},
): LaunchPlan {
  const command = terminal === undefined ? COMMAND : { ...COMMAND, terminal };
  return planBubblewrap(command, PROFILE, { ...surveyOf(host), ...added, bubblewrap: '/usr/bin/bwrap' });
}

const WAY_OUT = { gate: 3, label: 'call_01KA7Q.x-Y' };

const GATE: LaunchPlan['tool'] = {
  path: '/usr/bin/node',
  argv: ['/usr/bin/node', '/opt/palyra/proxy-program.js'],
  environment: ['NODE_CHANNEL_FD=7'],
  cwd: '/',
  terminal: undefined,
};

const GATE_CODE: LaunchPlan['staged'][number] = {
  name: 'gate-0',
  source: '/root/palyra',
  readOnly: true,
  idmap: false,
};

function smallFile(at: number): HostSurvey['systemFiles'][number] {
  return { kind: 'copy', path: `/etc/small-${at}`, bytes: Buffer.from(`${at}\n`) };
}

function surveyOf({ identity, driver }: InventedHost): HostSurvey {
  const cgroups = planCgroups(driver, {
    jobName: jobNameOf({ launcherPid: 77, launcherStartTicks: 4711, job: 'job-1' }),
    limits: DEFAULT_LIMITS,
    mustHold: [],
  });
  if (cgroups.kind !== 'planned') throw new Error(cgroups.reason);
  return {
    arch: 'x86_64',
    identity,
    idmapWorkspace: identity !== undefined,
    workspace: { root: '/srv/my shop', gitDirectories: ['/srv/repository/.git'] },
    systemRoots: [
      { kind: 'directory', path: '/usr' },
      { kind: 'link', path: '/bin', target: 'usr/bin' },
      { kind: 'link', path: '/lib64', target: 'usr/lib64' },
    ],
    hasSysrq: true,
    systemFiles: [
      { kind: 'mount', path: '/etc/ssl/certs' },
      { kind: 'copy', path: '/etc/localtime', bytes: Buffer.from('TZif2\0\0\0') },
      { kind: 'copy', path: '/etc/empty', bytes: Buffer.alloc(0) },
      // As many as there may be, so that one more is too many.
      ...Array.from({ length: 25 }, (_, at) => smallFile(at)),
    ],
    toolchains: {
      path: '/home/ada/.nvm/versions/node/v24/bin:/usr/bin:/bin',
      readOnly: ['/home/ada/.nvm/versions/node/v24'],
      environment: { NVM_DIR: '/home/ada/.nvm' },
    },
    masked: [
      { path: '/srv/my shop/.env', kind: 'file' },
      { path: '/home/ada/.nvm/versions/node/v24/secrets', kind: 'directory' },
    ],
    outOfReach: new Set(identity === undefined ? [] : ['/home/ada/.nvm/versions/node/v24']),
    program: '/usr/bin/sh',
    cgroups: { plans: cgroups.cgroups, facts: cgroups.facts, cpuCounter: cgroups.cpuCounter },
    landlock: {
      rules: [
        { path: '/usr', access: 'read' },
        { path: '/srv/my shop', access: 'write' },
        { path: '/home/ada/.nvm', access: 'read' },
      ],
      stamp: '/ 1.2\n/home/ada 3.4',
    },
    tasksOnHost: 200,
  ceilings: {},
  paths: { readOnly: ['/opt/data'], writable: ['/var/cache/shop'] },
  bound: [{ path: '/srv/my shop', identity: '65024 4711' }],
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, bytes] of launcherVectors()) writeFileSync(new URL(name, import.meta.url), bytes);
}
