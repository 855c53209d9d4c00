import { join } from 'node:path';
import { isWritable, type Mount, parseMountinfo } from '../facts/parse-mountinfo.ts';
import type { MountWall } from './mount-walls.ts';
import { isAtOrBelow, type SurveyFiles } from './survey-files.ts';

/** Something that is mounted on the host in what a tool is shown, and so is shown with it. */
export interface HostMount {
  readonly at: string;
  readonly writable: boolean;
}

export interface MountQuestion {
  /** Everybody's: what is mounted in them is there for every program of this machine. */
  readonly system: readonly string[];
  readonly shown: readonly string[];
  readonly wall: MountWall;
}

/**
 * What is mounted below these paths. Read each time, for mounts come and go; understood anew when it is another text.
 * SECURITY: T-19, T-20 — what is behind the wall by another name, and files of the kernel, are not expected, and so are findings.
 */
export function createHostMounts(
  files: Pick<SurveyFiles, 'readText'>,
): (question: MountQuestion) => readonly HostMount[] {
  let text = '';
  let mounts: readonly Mount[] = [];
  return ({ system, shown, wall }) => {
    const now = files.readText('/proc/self/mountinfo') ?? '';
    if (now !== text) mounts = visibleMounts(now);
    text = now;
    return mounts
      .filter(({ at }) => isBelow(at, system) || isBelow(at, shown))
      .filter((mount) => isBelow(mount.at, system) || !isWalled(mount, { mounts, wall }))
      .map((mount) => ({ at: mount.at, writable: isWritable(mount) }));
  };
}

function isBelow(at: string, places: readonly string[]): boolean {
  return places.some((place) => place !== at && isAtOrBelow(at, place));
}

const OF_THE_KERNEL = new Set(
  `proc sysfs devtmpfs devpts cgroup cgroup2 securityfs debugfs tracefs configfs bpf pstore efivarfs fusectl mqueue binder
   rpc_pipefs nfsd autofs`.split(/\s+/),
);

/** By what the same file system, or a part of it, is called elsewhere on the host. */
function isWalled(mount: Mount, { mounts, wall }: { mounts: readonly Mount[]; wall: MountWall }): boolean {
  if (OF_THE_KERNEL.has(mount.fsType)) return true;
  const below = (path: string, root: string) => path.slice(root === '/' ? 0 : root.length);
  const names = mounts
    .filter(({ device, at }) => device === mount.device && at !== mount.at)
    .flatMap(({ at, root }) => {
      if (isAtOrBelow(mount.root, root)) return [join(at, below(mount.root, root))];
      return isAtOrBelow(root, mount.root) ? [at] : [];
    });
  return names.some((name) => wall(name.length > 1 ? name.replace(/\/$/, '') : name) !== undefined);
}

/** Without those that something else lies over: from above nobody comes to them. */
function visibleMounts(text: string): readonly Mount[] {
  const mounts = readMounts(text);
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  const covered = new Set(
    mounts.filter((mount) => byId.get(mount.parentId)?.at === mount.at).map((each) => each.parentId),
  );
  const uppermost = new Map(mounts.filter(({ id }) => !covered.has(id)).map((mount) => [mount.at, mount]));
  const answers = new Map<number, boolean>();
  const look = ({ id, parentId, at }: Mount): boolean => {
    const parent = byId.get(parentId);
    if (parent === undefined || parentId === id) return true;
    return (parent.at === at || nearestAbove(at, uppermost) === parent) && isVisible(parent);
  };
  const isVisible = (mount: Mount): boolean => {
    const answer = answers.get(mount.id) ?? look(mount);
    answers.set(mount.id, answer);
    return answer;
  };
  return mounts.filter(isVisible);
}

function nearestAbove(at: string, uppermost: ReadonlyMap<string, Mount>): Mount | undefined {
  for (let path = at; path !== '/'; ) {
    path = path.slice(0, path.lastIndexOf('/')) || '/';
    const found = uppermost.get(path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** SECURITY: T-20 — of a table that cannot be read nothing is expected, and whatever is found then is a difference. */
function readMounts(text: string): readonly Mount[] {
  try {
    return text === '' ? [] : parseMountinfo(text);
  } catch {
    return [];
  }
}
