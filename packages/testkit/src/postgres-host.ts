import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** PostgreSQL refuses to run as root, so root hands it to the account the Debian package made. */
export type ServerUser =
  | { readonly kind: 'self' }
  | { readonly kind: 'account'; readonly uid: number; readonly gid: number };

const ACCOUNT = 'postgres';
const DEBIAN_ROOT = '/usr/lib/postgresql';
const FIX = 'Run `npm run setup`, or install it: apt-get install postgresql (Debian, Ubuntu).';

/** Debian keeps the server's programs out of PATH, one directory per major version; the newest wins. */
export function findPostgresBinaries(
  path: string = process.env['PATH'] ?? '',
  debianRoot: string = DEBIAN_ROOT,
): PostgresBinaries {
  const versions = existsSync(debianRoot) ? readdirSync(debianRoot) : [];
  const debian = versions.toSorted((a, b) => Number(b) - Number(a)).map((version) => join(debianRoot, version, 'bin'));
  for (const directory of [...path.split(delimiter).filter(Boolean), ...debian]) {
    const found = { initdb: join(directory, 'initdb'), postgres: join(directory, 'postgres') };
    if (isExecutable(found.initdb) && isExecutable(found.postgres)) return found;
  }
  throw new Error(`PostgreSQL is not installed: no initdb and postgres in PATH or ${DEBIAN_ROOT}/*/bin. ${FIX}`);
}

export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return { kind: 'self' };
  const [uid, gid] = [idOf('-u'), idOf('-g')];
  if (uid === 0) throw new Error(`The account ${ACCOUNT} is root itself; PostgreSQL refuses to run as root.`);
  return { kind: 'account', uid, gid };
}

/**
 * The command and arguments that run `file` as the server's user and let it die with us.
 * The parent-death signal is the one for an immediate shutdown: the data is thrown away anyway.
 */
export function asServerUser(user: ServerUser, file: string, args: readonly string[]): [string, string[]] {
  // Elsewhere than on Linux there is no setpriv; there the exit hook alone ends the server.
  if (process.platform !== 'linux') return [file, [...args]];
  const identity =
    user.kind === 'account' ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--no-new-privs'] : [];
  return ['setpriv', [...identity, '--pdeathsig=QUIT', '--', file, ...args]];
}

function idOf(flag: '-u' | '-g'): number {
  try {
    return Number(execFileSync('id', [flag, ACCOUNT], { encoding: 'utf8', stdio: 'pipe' }));
  } catch (cause) {
    throw new Error(`There is no account ${ACCOUNT} to run PostgreSQL as, and root may not. ${FIX}`, { cause });
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
