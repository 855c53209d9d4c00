import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

/** Somebody's part of the machine: a home, a workspace, and sources to start a daemon from. */
export interface Whereabouts {
  /** Everything below is in here. */
  readonly base: string;
  readonly home: string;
  readonly palyraHome: string;
  readonly workspace: string;
  readonly uid: number;
  /** Sources and Node where this user can read them. */
  readonly checkout: string;
  readonly node: string;
  /** Where Node keeps what it compiled of those: stripping their types anew takes two thirds of a daemon's start. */
  readonly compiled: string | undefined;
}

export const OWN_UID: number = process.geteuid?.() ?? 0;
export const IS_ROOT: boolean = OWN_UID === 0;
const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

/** Not below TMPDIR: an ordinary user must be able to enter. */
export function makeWhereabouts(uid: number): Whereabouts {
  const base = mkdtempSync('/tmp/palyra-attack-');
  chmodSync(base, 0o755);
  const owned = (name: string, mode: number) => {
    const path = join(base, name);
    mkdirSync(path);
    chmodSync(path, mode);
    if (IS_ROOT) chownSync(path, uid, uid);
    return path;
  };
  const home = owned('home', 0o755);
  const palyraHome = owned('home/.palyra', 0o700);
  const workspace = owned('workspace', 0o755);
  const isOurs = uid === OWN_UID;
  const places = { base, home, palyraHome, workspace, uid };
  if (isOurs) {
    return { ...places, checkout: CHECKOUT, node: process.execPath, compiled: process.env['NODE_COMPILE_CACHE'] };
  }
  const shared = sharedSources();
  const checkout = join(shared, 'checkout');
  const compiled = owned('compiled', 0o700);
  if (existsSync(join(shared, 'compiled'))) handOver(join(shared, 'compiled'), compiled, uid);
  return { ...places, checkout, node: join(checkout, 'node'), compiled };
}

/** What Node compiled is kept for the next place: of the same sources it is the same. */
export function removeWhereabouts({ base, uid, compiled }: Whereabouts): void {
  if (uid !== OWN_UID && compiled !== undefined) keepCompiled(compiled, join(sharedSources(), 'compiled'));
  rmSync(base, { recursive: true, force: true, maxRetries: 3 });
}

/** Whole or not at all: another worker may look for it, or keep its own, in this moment. */
function keepCompiled(compiled: string, kept: string): void {
  if (existsSync(kept)) return;
  const copy = `${kept}-${randomUUID()}`;
  cpSync(compiled, copy, { recursive: true });
  try {
    renameSync(copy, kept);
  } catch {
    rmSync(copy, { recursive: true });
  }
}

function sharedSources(): string {
  const shared = inject('sandboxSources');
  if (shared === undefined) throw new Error('Only root has sources for somebody else: see sandbox-sources.ts.');
  return shared;
}

/** Each user has a directory in there that ends with their id. */
function handOver(from: string, to: string, uid: number): void {
  for (const name of readdirSync(from)) {
    const mine = join(to, name.replace(/\d+$/, String(uid)));
    cpSync(join(from, name), mine, { recursive: true });
    for (const file of readdirSync(mine)) chownSync(join(mine, file), uid, uid);
    chownSync(mine, uid, uid);
  }
}
