/** One hierarchy as mounted here. */
export interface CgroupMount {
  readonly version: 1 | 2;
  /** Which cgroup of the hierarchy the mount point shows; in containers seldom `/`. */
  readonly root: string;
  readonly at: string;
  readonly writable: boolean;
  /** Of a v1 hierarchy; several are mounted together at times. */
  readonly controllers: readonly string[];
}

/** Where this process is in one hierarchy. */
export interface CgroupMembership {
  /** Empty for v2. */
  readonly controllers: readonly string[];
  readonly path: string;
}

/** Lines of /proc/PID/mountinfo that are cgroups; a mount that lies under a later one at the same place is left out. */
export function parseCgroupMounts(mountinfo: string): readonly CgroupMount[] {
  const lastAt = new Map<string, CgroupMount | undefined>();
  for (const line of mountinfo.split('\n')) {
    const [mounted = '', kind = ''] = splitOnce(line, ' - ');
    const [, , , root, at, options] = mounted.split(' ');
    if (root === undefined || at === undefined || options === undefined) continue;
    const [type = '', , superOptions = ''] = kind.split(' ');
    const place = unescapeOctal(at);
    // Deleted first, so that the order is that of the mounts that can be seen.
    lastAt.delete(place);
    lastAt.set(place, cgroupMount({ type, root: unescapeOctal(root), at: place, options, superOptions }));
  }
  return [...lastAt.values()].filter((mount) => mount !== undefined);
}

/** Lines of /proc/PID/cgroup: `4:memory:/a/b`, and `0::/a/b` for v2. */
export function parseCgroupMemberships(text: string): readonly CgroupMembership[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\d+:(?<names>[^:]*):(?<path>\/.*)$/.exec(line);
    const { names, path } = match?.groups ?? {};
    if (names === undefined || path === undefined) return [];
    return [{ controllers: names === '' ? [] : names.split(','), path }];
  });
}

/** The directory of a cgroup, or undefined where this mount does not show it. */
export function directoryOf(mount: CgroupMount, path: string): string | undefined {
  // A cgroup outside the cgroup namespace is written `/../x`; a path through `..` could name any directory.
  if (path.split('/').includes('..') || mount.root.split('/').includes('..')) return undefined;
  const root = mount.root === '/' ? '' : mount.root;
  if (path !== root && !path.startsWith(`${root}/`)) return undefined;
  const below = path.slice(root.length).replace(/\/+$/, '');
  return `${mount.at}${below}`;
}

interface MountFields {
  readonly type: string;
  readonly root: string;
  readonly at: string;
  readonly options: string;
  readonly superOptions: string;
}

function cgroupMount({ type, root, at, options, superOptions }: MountFields): CgroupMount | undefined {
  if (type !== 'cgroup' && type !== 'cgroup2') return undefined;
  const ofSuper = superOptions.split(',');
  const writable = options.split(',').includes('rw') && ofSuper.includes('rw');
  if (type === 'cgroup2') return { version: 2, root, at, writable, controllers: [] };
  return { version: 1, root, at, writable, controllers: ofSuper.filter((name) => name !== 'rw' && name !== 'ro') };
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The kernel writes space, tab, newline and backslash as \040 and so on. */
function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
