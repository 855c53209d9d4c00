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
  const findings: Finding[] = [];
  // In loops: of some twenty mounts each would have lists of its own, nearly always empty ones, before every command.
  for (const at of places) findings.push(...placeFindings(at, found.get(at) ?? [], planned.get(at) ?? []));
  for (const wish of expected) if (wish.within !== undefined) findings.push(...sourceFindings(wish, found));
  for (const mount of mounts) findings.push(...followFindings(mount), ...flagFindings(mount));
  findings.push(...hidingFindings(mounts));
  return findings;
}

const NONE: readonly Finding[] = [];

function placeFindings(at: string, found: readonly Mount[], planned: readonly ExpectedMount[]): readonly Finding[] {
  if (found.length !== planned.length) {
    return [{ what: countSentence(at, planned.length), expected: mountCount(planned), found: mountCount(found) }];
  }
  const upper = found.at(-1);
  const wish = planned.at(-1);
  if (upper === undefined || wish === undefined) return NONE;
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
  if (sizeBytes === undefined) return NONE;
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
  if (!followsHost) return NONE;
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

const OF_DEVICES = ['nosuid'] as const;
const OF_OTHERS = ['nosuid', 'nodev'] as const;

// SECURITY: T-42 — a setuid file or a device node left in a writable place works for whoever reaches it later.
function flagFindings(mount: Mount): readonly Finding[] {
  if (!isWritable(mount)) return NONE;
  const needed = DEVICES.has(mount.at) ? OF_DEVICES : OF_OTHERS;
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
function hidingFindings(mounts: readonly Mount[]): readonly Finding[] {
  const findings: Finding[] = [];
  const above = waysTo(mounts);
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  const first = mounts.find(({ at }) => at === '/');
  for (const [index, mount] of mounts.entries()) {
    const isBeneath = byId.get(mount.parentId)?.at === mount.at;
    const nearest = mounts[above[index] ?? NOWHERE];
    if (isBeneath || mount === first || (nearest !== undefined && nearest.id === mount.parentId)) continue;
    const what = `The mount at ${mount.at} is hidden, so it does not hold.`;
    findings.push({ what, expected: 'within reach', found: `covered at ${nearest?.at ?? mount.at}` });
  }
  return findings;
}

const NOWHERE = -1;

let known: { readonly places: readonly string[]; readonly above: readonly number[] } | undefined;

/**
 * Of each mount which one is the nearest above it, or `NOWHERE`. That is a matter of their places alone, in their order, and
 * these are the same for every command with one profile: of some hundred pairs each is looked at once.
 */
function waysTo(mounts: readonly Mount[]): readonly number[] {
  const isKnown =
    known?.places.length === mounts.length && mounts.every(({ at }, index) => known?.places[index] === at);
  if (known === undefined || !isKnown) {
    const places = mounts.map(({ at }) => at);
    known = { places, above: places.map((at) => nearestAbove(at, places)) };
  }
  return known.above;
}

function nearestAbove(at: string, places: readonly string[]): number {
  let nearest = NOWHERE;
  for (const [index, place] of places.entries()) {
    const { length } = place;
    // Without a text for each pair of mounts.
    const isAbove = at.length > length && (length === 1 || (at[length] === '/' && at.startsWith(place)));
    // Of mounts at one place the last is the uppermost.
    if (isAbove && length >= (places[nearest]?.length ?? 0)) nearest = index;
  }
  return nearest;
}
