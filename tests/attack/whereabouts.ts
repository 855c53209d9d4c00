import { chmodSync, chownSync, cpSync, linkSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

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
  const checkout = copySandbox(join(base, 'checkout'));
  return { ...places, checkout, node: join(checkout, 'node'), compiled: owned('compiled', 0o700) };
}

/** The checkout may lie where only root can enter. Of everything that is in it a sandbox needs little. */
function copySandbox(target: string): string {
  const copy = (path: string) => {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    cpSync(join(CHECKOUT, path), join(target, path), {
      recursive: true,
      filter: (source) => !/\.(?:test\.ts|map|md)$/.test(source),
    });
  };
  copy('package.json');
  copy('tests/attack/programs');
  for (const name of ['primitives', 'sandbox']) {
    copy(`packages/${name}/package.json`);
    copy(`packages/${name}/src`);
    mkdirSync(join(target, 'node_modules/@palyra'), { recursive: true });
    symlinkSync(join(target, 'packages', name), join(target, 'node_modules/@palyra', name));
  }
  copy('packages/sandbox/native/build');
  for (const name of modulesFor(['pino', 'ulid'])) copy(`node_modules/${name}`);
  try {
    linkSync(process.execPath, join(target, 'node'));
  } catch {
    cpSync(process.execPath, join(target, 'node'));
  }
  return target;
}

function modulesFor(names: readonly string[], found: Set<string> = new Set()): ReadonlySet<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(CHECKOUT, 'node_modules', name, 'package.json'), 'utf8'),
    );
    modulesFor(Object.keys(dependencies), found);
  }
  return found;
}
