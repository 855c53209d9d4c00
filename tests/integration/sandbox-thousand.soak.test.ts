import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { createCaptureLogger } from '@palyra/testkit';
import { expect, test } from 'vitest';
import { sandboxProfile } from '../sandbox-profile.ts';
import { until } from './launched-job.ts';

/** `npm run soak` runs a thousand commands, `npm test` a tenth of it. */
const RUNS = process.env['PALYRA_SOAK'] === '1' ? 1000 : 100;
const KIBIBYTE = 1024;
/** An allocator may keep a page or two; a leak of a hundred bytes a run would be more. */
const LAUNCHER_GROWTH = 96 * KIBIBYTE;

const isRoot = process.geteuid?.() === 0;

/** Whatever a run could leave on this host that is ours and nobody else's. */
interface Remains {
  readonly ourDescriptors: number;
  readonly launcherDescriptors: number;
  readonly processes: readonly string[];
  readonly cgroups: readonly string[];
  readonly mounts: readonly string[];
  /** What is put there is only for the job's own mount namespace. */
  readonly staged: readonly string[];
}

async function withSandbox(workspaceOwner: number | undefined, use: (open: Opened) => Promise<void>): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'palyra-thousand-'));
  if (workspaceOwner !== undefined) chownSync(root, workspaceOwner, workspaceOwner);
  // Not among the files of other tests: what lies beside it is named in the rules of Tier B, and comes and goes there.
  const palyraHome = mkdtempSync('/var/tmp/palyra-thousand-home-');
  const operator = { path: '/usr/bin:/bin', home: '/nonexistent', palyraHome, environment: {} };
  // What waits for the next command is no remains; sandbox-pool.test.ts looks at it.
  const sandbox = await createSandbox({ operator, logger: createCaptureLogger().logger, pool: 'off' });
  try {
    await use({ sandbox, root });
  } finally {
    await sandbox.close();
    rmSync(root, { recursive: true });
    rmSync(palyraHome, { recursive: true });
  }
}

interface Opened {
  readonly sandbox: Sandbox;
  readonly root: string;
}

/** Output on both, a file, and a child that outlives its parent in a session of its own: each is something to clean up. */
const BUSY = 'echo out; echo err >&2; echo x > "$HOME/made"; (setsid sleep 60 &) ; exit 3';

async function runOnce({ sandbox, root }: Opened, number: number): Promise<void> {
  const profile = sandboxProfile(root, { tier: number % 2 === 0 ? 'C' : 'B', toolchains: 'operator' });
  const result = await sandbox.run({ argv: ['/bin/sh', '-c', BUSY] }, profile, { input: [Buffer.from('in')] });
  const { kind } = result;
  const said =
    kind === 'completed' ? [result.exitCode, String(result.output.stdout), String(result.output.stderr)] : result;
  expect({ number, kind, said }).toEqual({ number, kind: 'completed', said: [3, 'out\n', 'err\n'] });
}

function remainsOf({ sandbox: { about }, root }: Opened): Remains {
  const { launcher, cgroups } = about;
  return {
    ourDescriptors: readdirSync('/proc/self/fd').length,
    launcherDescriptors: readdirSync(`/proc/${launcher.pid}/fd`).length,
    processes: descendantsOf(launcher.pid),
    cgroups: cgroupsOf(launcher.pid, cgroups.kind),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      // Other tests mount things, too.
      .filter((line) => line.includes('/run/palyra') || line.includes(root)),
    staged: listed('/run/palyra'),
  };
}

/** The end of a command is told when everything of it is dead; its keeper and its empty cgroups go in the next moment. */
async function putAway({ sandbox: { about } }: Opened): Promise<void> {
  const { launcher, cgroups } = about;
  await until(() => [...descendantsOf(launcher.pid), ...cgroupsOf(launcher.pid, cgroups.kind)].length === 0);
}

/** Zombies too: they are what a launcher that does not reap leaves. */
function descendantsOf(pid: number): readonly string[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(Number(child))]);
}

function childrenOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  } catch (error) {
    // It went after its parent was read: whoever was its child is the launcher's at the next look.
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return [];
    throw error;
  }
}

/** A job's directory is named for the launcher that made it. */
function cgroupsOf(launcherPid: number, driver: Sandbox['about']['cgroups']['kind']): readonly string[] {
  if (driver === 'none') return [];
  const named = new RegExp(`^palyra-${launcherPid}-`);
  const memberships = readFileSync('/proc/self/cgroup', 'utf8').trim().split('\n');
  const places = memberships.flatMap((line) => {
    const [, controllers = '', path = ''] = line.split(/:(.*?):(.*)/s);
    return [join('/sys/fs/cgroup', controllers, path), join('/sys/fs/cgroup', controllers)];
  });
  return [...new Set(places)].flatMap((place) => listed(place).filter((name) => named.test(name)));
}

function listed(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function residentBytes(pid: number): number {
  const pages = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(pages) * KIBIBYTE;
}

/** As root both ways to a user: the workspace's owner, and a user of nobody's through an idmapped mount. */
const OWNERS = isRoot ? [71_235, undefined] : [undefined];

test.for(OWNERS)(`${RUNS} commands one after the other leave nothing behind, workspace of uid %s`, (owner) =>
  withSandbox(owner, async (opened) => {
    const { about } = opened.sandbox;
    // The first runs fill what is kept on purpose: rule sets, buffers, a namespace for the idmapped mount.
    const warm = RUNS / 10;
    for (let number = 0; number < warm; number += 1) await runOnce(opened, number);
    await putAway(opened);
    const before = { remains: remainsOf(opened), resident: residentBytes(about.launcher.pid) };
    for (let number = warm; number < RUNS; number += 1) await runOnce(opened, number);
    await putAway(opened);

    const { ourDescriptors, launcherDescriptors, ...after } = remainsOf(opened);
    const { remains } = before;
    expect({ ...remains, ...after }).toEqual(remains);
    // A watch on a quiet workspace, a rule set for other neighbours of the home: a leak would be one for each command.
    const grown = [ourDescriptors - remains.ourDescriptors, launcherDescriptors - remains.launcherDescriptors];
    expect(Math.max(...grown)).toBeLessThan(RUNS / 10);
    expect(before.remains).toMatchObject({ processes: [], cgroups: [], mounts: [], staged: [] });
    expect(residentBytes(about.launcher.pid) - before.resident).toBeLessThan(LAUNCHER_GROWTH);
  }),
);
