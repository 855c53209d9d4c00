import type { ExpectedMount } from './expected-facts.ts';
import type { Finding } from './finding.ts';
import { isWritable, type Mount } from './parse-mountinfo.ts';

/**
 * SECURITY: T-20 — the whole mount table is the plan's: nothing missing, nothing more, nothing writable that should not
 * be, nothing hidden by something else. A place that the plan lists twice has two mounts, of which the upper one counts.
 */
export function mountFindings(
  mounts: readonly Mount[] | undefined,
  expected: readonly ExpectedMount[] | undefined,
): readonly Finding[] {
  if (expected === undefined) return [];
  if (mounts === undefined) {
    const what = "The tool sees the host's mounts.";
    return [{ what, expected: 'a mount table of its own', found: "the host's" }];
  }
  const found = Map.groupBy(mounts, ({ at }) => at);
  const planned = Map.groupBy(expected, ({ at }) => at);
  const places = new Set([...planned.keys(), ...found.keys()]);
  return [
    ...[...places].flatMap((at) => placeFindings(at, found.get(at) ?? [], planned.get(at) ?? [])),
    ...expected.flatMap((wish) => sourceFindings(wish, found)),
    ...mounts.flatMap((mount) => [...followFindings(mount), ...flagFindings(mount), ...hidingFindings(mount, mounts)]),
  ];
}

function placeFindings(at: string, found: readonly Mount[], planned: readonly ExpectedMount[]): readonly Finding[] {
  if (found.length !== planned.length) {
    return [{ what: countSentence(at, planned.length), expected: mountCount(planned), found: mountCount(found) }];
  }
  const upper = found.at(-1);
  const wish = planned.at(-1);
  if (upper === undefined || wish === undefined) return [];
  if (isWritable(upper) === wish.writable) return sizeFindings(upper, wish);
  const what = `${at} is ${wish.writable ? 'not writable although it should be' : 'writable although it must not be'}.`;
  return [{ what, expected: access(wish.writable), found: access(!wish.writable) }];
}

/**
 * SECURITY: T-14, T-44 — bubblewrap finds by name what it mounts, and another sandbox may exchange a name in a workspace
 * for a link to anywhere, then and when names are looked up again. What a mount shows is said by the kernel in one line.
 */
function sourceFindings(
  { at, within }: ExpectedMount,
  found: ReadonlyMap<string, readonly Mount[]>,
): readonly Finding[] {
  const whole = within === undefined ? undefined : found.get(within)?.at(-1);
  if (within === undefined) return [];
  const isPart = (mount: Mount) =>
    whole?.device === mount.device && (whole.root === '/' || mount.root.startsWith(`${whole.root}/`));
  const own = found.get(at) ?? [];
  if (own.length > 0 && own.every(isPart)) return [];
  const what = `The mount at ${at} shows something from elsewhere.`;
  return [{ what, expected: `a part of ${within}`, found: own.length === 0 ? 'nothing' : 'something else' }];
}

/** Of the kernels that we run on; each counts in its own. */
const PAGES = [4096, 16_384, 65_536];

// SECURITY: T-17 — without a size a tmpfs takes half of the machine's memory.
function sizeFindings({ at, superOptions }: Mount, { sizeBytes }: ExpectedMount): readonly Finding[] {
  if (sizeBytes === undefined) return [];
  const kibibytes = superOptions
    .map((option) => /^size=(\d+)k$/.exec(option)?.[1])
    .find((found) => found !== undefined);
  const isAsPlanned = PAGES.some((page) => Number(kibibytes) * 1024 === Math.ceil(sizeBytes / page) * page);
  if (kibibytes !== undefined && isAsPlanned) return [];
  const found = kibibytes === undefined ? 'no size' : `${kibibytes} KiB`;
  return [{ what: `${at} is not of the planned size.`, expected: `${sizeBytes} bytes`, found }];
}

function countSentence(at: string, planned: number): string {
  return planned === 0
    ? `Something is mounted at ${at} that is not in the plan.`
    : `The mounts at ${at} are not as planned.`;
}

function mountCount(mounts: readonly unknown[]): string {
  return mounts.length === 1 ? '1 mount' : `${mounts.length} mounts`;
}

function access(writable: boolean): string {
  return writable ? 'writable' : 'read-only';
}

// SECURITY: T-44 — or a mount that the host makes later opens what was measured to be closed.
function followFindings({ at, followsHost }: Mount): readonly Finding[] {
  if (!followsHost) return [];
  return [
    {
      what: `What the host mounts later would appear in ${at}.`,
      expected: 'a mount of its own',
      found: 'one that follows the host',
    },
  ];
}

/** Bubblewrap binds these from the host's /dev; they are devices and could not be used with nodev. */
const DEVICES: ReadonlySet<string> = new Set(
  ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'console', 'pts'].map((name) => `/dev/${name}`),
);

// SECURITY: T-42 — a setuid file or a device node left in a writable place works for whoever reaches it later.
function flagFindings(mount: Mount): readonly Finding[] {
  if (!isWritable(mount)) return [];
  const needed = DEVICES.has(mount.at) ? ['nosuid'] : ['nosuid', 'nodev'];
  return needed
    .filter((flag) => !mount.options.includes(flag))
    .map((flag) => ({
      what: `${mount.at} is writable without ${flag}.`,
      expected: flag,
      found: mount.options.join(','),
    }));
}

/**
 * SECURITY: T-44 — a mask that lies beneath a later mount masks nothing. A mount is reached only if its parent is what
 * one finds on the way: the lower mount at the same place, or the uppermost one at the nearest place above.
 */
function hidingFindings(mount: Mount, mounts: readonly Mount[]): readonly Finding[] {
  const beneath = mounts.some(({ id, at }) => id === mount.parentId && at === mount.at);
  if (beneath || (mount.at === '/' && mounts.find(({ at }) => at === '/') === mount)) return [];
  const above = nearestAbove(mount.at, mounts);
  if (above !== undefined && above.id === mount.parentId) return [];
  const what = `The mount at ${mount.at} is hidden, so it does not hold.`;
  return [{ what, expected: 'within reach', found: `covered at ${above?.at ?? mount.at}` }];
}

function nearestAbove(at: string, mounts: readonly Mount[]): Mount | undefined {
  let nearest: Mount | undefined;
  for (const mount of mounts) {
    const { length } = mount.at;
    // Without a text for each pair of mounts: there are some hundred pairs.
    const isAbove = at.length > length && (length === 1 || (at[length] === '/' && at.startsWith(mount.at)));
    // Of mounts at one place the last is the uppermost.
    if (isAbove && mount.at.length >= (nearest?.at.length ?? 0)) nearest = mount;
  }
  return nearest;
}
