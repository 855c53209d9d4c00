import { lstatSync, realpathSync } from 'node:fs';
import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { PROTECTED_PATTERNS } from '../../file-tools/protected-patterns.ts';
import { createProtectedPaths, type ProtectedPaths } from '../../file-tools/worker/protected-paths.ts';

/** Where no agent's own tool may look or write, wherever the workspace is: credentials, and Palyra's home. Absolute. */
export type NeverPlaces = readonly string[];

export interface LocatedPath {
  /** Where it really leads, as far as that is there. */
  readonly path: string;
  readonly kind: 'plain' | 'protected' | 'secret' | 'outside' | 'never';
}

export interface PathQuestion {
  /** Absolute. */
  readonly path: string;
  readonly access: 'read' | 'write';
  /** The real path of the workspace. */
  readonly workspace: string;
}

export type LocatePath = (question: PathQuestion) => Promise<LocatedPath>;

/** What cannot be looked at is `outside`: then a human is asked. Does not throw. */
export function createLocatePath(never: NeverPlaces): LocatePath {
  const paths = createProtectedPaths(PROTECTED_PATTERNS);
  const isNever = insideAny(never);
  return async ({ path, access, workspace }) => {
    const written = resolve(path);
    const real = isPlainIn(workspace, written) ? written : await realPathOf(written).catch(() => undefined);
    // SECURITY: T-14 — by the name it was called and by where that leads: neither is a way around the other.
    const names = real === undefined || real === written ? [written] : [written, real];
    if (names.some(isNever)) return { path: real ?? written, kind: 'never' };
    if (real === undefined || !isAtOrBelow(real, workspace)) {
      // Only out here: no workspace lies at such a place, by whichever name.
      const places = await Promise.all(never.map((place) => realPathOf(place).catch(() => place)));
      return { path: real ?? written, kind: names.some(insideAny(places)) ? 'never' : 'outside' };
    }
    return { path: real, kind: kindOf(paths, { names, access, workspace }) };
  };
}

interface Named {
  readonly names: readonly string[];
  readonly access: PathQuestion['access'];
  readonly workspace: string;
}

/** SECURITY: T-15 — a link of a harmless name to a protected file is that file, and a protected link is protected. */
function kindOf(paths: ProtectedPaths, { names, access, workspace }: Named): 'plain' | 'protected' | 'secret' {
  const reasons = names
    .filter((name) => isAtOrBelow(name, workspace))
    .map((name) => paths.reasonFor(relative(workspace, name), access));
  return reasons.find((reason) => reason === 'protected') ?? reasons.find((reason) => reason !== undefined) ?? 'plain';
}

/**
 * Whether a path of the workspace leads through no link, as most do: then it is its own real path, and no other thread has to be
 * woken to say so while the agent waits. Looked at here, on the thread that serves everybody, so nowhere else: a place that
 * somebody names, or that a link leads to, may be one that does not answer. Of the workspace it is known that it does.
 */
function isPlainIn(workspace: string, path: string): boolean {
  if (path === workspace || workspace === '/' || !isAtOrBelow(path, workspace)) return false;
  // Below what is not there nobody would say that no file has such a name.
  if (path.includes('\0') || path.length > LONG) return false;
  try {
    // SECURITY: T-14 — also of what lies above: what is at the workspace's place may be a link by now.
    if (realpathSync.native(workspace) !== workspace) return false;
    const names = path.slice(workspace.length + 1).split('/');
    let at = workspace;
    for (const [index, name] of names.entries()) {
      at = `${at}/${name}`;
      const facts = lstatSync(at, { throwIfNoEntry: false });
      // What is not there leads nowhere else, nor does what would be below it.
      if (facts === undefined) return names.length - index < MOST_LINKS;
      if (facts.isSymbolicLink() || (index < names.length - 1 && !facts.isDirectory())) return false;
    }
    return true;
  } catch {
    return false;
  }
}

const MOST_LINKS = 40;
/** In characters; the kernel takes 4096 bytes. */
const LONG = 1000;

/** Of a path whose end may not be there yet. A link that leads nowhere leads to where it would. */
async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isAbsent(error) || path === dirname(path) || links > MOST_LINKS) throw error;
  }
  const parent = await realPathOf(dirname(path), links + 1);
  const at = join(parent, basename(path));
  const target = await readlink(at).catch(() => undefined);
  return target === undefined ? at : realPathOf(resolve(parent, target), links + 1);
}

function isAbsent(error: unknown): boolean {
  return Object(error).code === 'ENOENT';
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(below(place));
}

/** The same for many places, of which there are as many for each path. */
function insideAny(places: readonly string[]): (path: string) => boolean {
  const all = places.map((place) => ({ place, beginning: below(place) }));
  return (path) => all.some(({ place, beginning }) => path === place || path.startsWith(beginning));
}

function below(place: string): string {
  return `${place.replace(/\/$/, '')}/`;
}
