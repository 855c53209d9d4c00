import type { CgroupChanges } from './cgroup-files.ts';
import type { CgroupDriver } from './detect-cgroups.ts';
import { isDead, parseJobName, pidNamespaceOf, startTicksOf } from './job-name.ts';

export interface StaleRemoval {
  /** Directories that are gone. */
  readonly removed: readonly string[];
  /** Directories that are stale and still there. */
  readonly left: readonly { readonly directory: string; readonly reason: string }[];
}

/** A killed process may take a while to die when it writes to a slow disk. */
const MOST_ROUNDS = 400;

/** Ends what launchers left that did not end in order (kill -9, the OOM killer), and removes their directories. */
export async function removeStale(driver: CgroupDriver, changes: CgroupChanges): Promise<StaleRemoval> {
  const removed: string[] = [];
  const left: { directory: string; reason: string }[] = [];
  for (const directory of staleDirectories(driver, changes)) {
    const reason = await removeCgroup(directory, changes);
    if (reason === undefined) removed.push(directory);
    else left.push({ directory, reason });
  }
  return { removed, left };
}

/** Kills everything in one cgroup and removes it; the reason when it is still there afterwards. */
export async function removeCgroup(directory: string, changes: CgroupChanges): Promise<string | undefined> {
  for (const name of changes.directoriesIn(directory)) {
    const reason = await removeCgroup(`${directory}/${name}`, changes);
    if (reason !== undefined) return reason;
  }
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const pids = pidsIn(directory, changes);
    // The job of a launcher in another pid namespace, whose death cannot be judged from here.
    if (pids.includes(0)) return 'It holds processes of another pid namespace.';
    if (pids.length === 0 && changes.removeDirectory(directory)) return undefined;
    if (!changes.exists(directory)) return undefined;
    // SECURITY: T-16 — no fork from here on, or a fork storm outruns the kills. Without such a file this does nothing.
    if (round === 0) changes.write(`${directory}/pids.max`, '0');
    // v2 kills all of them at once; v1 and old kernels one by one.
    if (!changes.write(`${directory}/cgroup.kill`, '1')) killEach(pids, changes);
    await changes.pause();
  }
  return 'Its processes do not end.';
}

function staleDirectories(driver: CgroupDriver, changes: CgroupChanges): readonly string[] {
  return parentsOf(driver).flatMap((parent) =>
    changes
      .directoriesIn(parent)
      .filter((name) => isStale(name, changes))
      .map((name) => `${parent}/${name}`),
  );
}

/** The hierarchy that can stop forks comes first: the others hold the same processes. */
function parentsOf(driver: CgroupDriver): readonly string[] {
  switch (driver.kind) {
    case 'v2':
      return [driver.directory];
    case 'v1':
      return driver.hierarchies
        .toSorted((a, b) => Number(b.controllers.includes('pids')) - Number(a.controllers.includes('pids')))
        .map(({ directory }) => directory);
    case 'none':
      return [];
  }
}

function isStale(name: string, changes: CgroupChanges): boolean {
  const parts = parseJobName(name);
  if (parts === undefined) return false;
  // SECURITY: T-16 — whether that launcher lives cannot be told from here, nor who is in there: its commands would fork no more.
  if ((pidNamespaceOf(parts) ?? changes.pidNamespace) !== changes.pidNamespace) return false;
  const stat = changes.readText(`/proc/${parts.launcherPid}/stat`);
  if (stat === undefined) return !changes.exists(`/proc/${parts.launcherPid}`);
  return isDead(stat) || startTicksOf(stat) !== parts.launcherStartTicks;
}

function pidsIn(directory: string, changes: CgroupChanges): readonly number[] {
  const lines = (changes.readText(`${directory}/cgroup.procs`) ?? '').split('\n');
  return lines.filter((line) => /^\d+$/.test(line)).map(Number);
}

function killEach(pids: readonly number[], changes: CgroupChanges): void {
  // SECURITY: T-16 — never 0 or 1: kill(0) is our own group.
  for (const pid of pids) if (pid > 1) changes.sendKill(pid);
}
