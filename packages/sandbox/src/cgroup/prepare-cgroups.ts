import type { CgroupChanges } from './cgroup-files.ts';
import { type CgroupDriver, MAIN_LEAF, type NoCgroups, type V2Driver } from './detect-cgroups.ts';
import { parentOf } from './job-name.ts';

/** More rounds than any shell that forks meanwhile needs. */
const MOST_ROUNDS = 16;

/**
 * Makes a detected driver ready for jobs, once and before the first of them. A v2 cgroup either holds processes or limits
 * its children, so its processes move to a leaf; where that fails there are no cgroups, and a profile that needs them is
 * refused.
 */
export function prepareCgroups(driver: CgroupDriver, changes: CgroupChanges): CgroupDriver {
  if (driver.kind !== 'v2') return driver;
  const { directory, controllers } = driver;
  const isEnabled = () => missingIn(changes, driver).length === 0;
  if (isEnabled()) return driver;

  // A session's cgroup holds the user's other programs too, and those are not ours to move.
  if (!pidsIn(changes, directory).every((pid) => isOurs(pid, changes))) return failed('other programs run in it');

  const leaf = `${directory}/${MAIN_LEAF}`;
  if (!changes.exists(leaf) && !changes.makeDirectory(leaf)) return failed('its leaf cannot be made');
  if (!emptyInto(changes, { directory, leaf })) return failed('its processes cannot be moved');
  changes.write(`${directory}/cgroup.subtree_control`, controllers.map((name) => `+${name}`).join(' '));
  // SECURITY: T-20 — what the kernel says now counts, not that the write seemed to work.
  return isEnabled() ? driver : failed('its controllers cannot be enabled');
}

function missingIn(changes: CgroupChanges, { directory, controllers }: V2Driver): readonly string[] {
  const enabled = (changes.readText(`${directory}/cgroup.subtree_control`) ?? '').trim().split(/\s+/);
  return controllers.filter((name) => !enabled.includes(name));
}

function emptyInto(changes: CgroupChanges, { directory, leaf }: { directory: string; leaf: string }): boolean {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const pids = pidsIn(changes, directory);
    if (pids.length === 0) return true;
    // One that ended meanwhile cannot be moved; the next round sees whether it was that. `0` is a process that this pid
    // namespace does not know, and writing it would move ourselves.
    for (const pid of pids) if (pid !== '0') changes.write(`${leaf}/cgroup.procs`, pid);
  }
  return false;
}

function pidsIn(changes: CgroupChanges, directory: string): readonly string[] {
  return (changes.readText(`${directory}/cgroup.procs`) ?? '').split('\n').filter((pid) => pid !== '');
}

/** Ourselves, or started by us, at whatever remove. Of a sandbox's own process its parent counts, which is palyrad. */
function isOurs(pid: string, changes: CgroupChanges): boolean {
  if (pid === String(changes.pid)) return true;
  const parent = parentOf(changes.readText(`/proc/${pid}/stat`) ?? '');
  return parent !== undefined && parent !== '0' && isOurs(parent, changes);
}

function failed(what: string): NoCgroups {
  return {
    kind: 'none',
    reason: `The cgroup of this process looks delegated, but ${what}.`,
    fix: 'Start the daemon as a service of its own with Delegate=cpu memory pids.',
  };
}
