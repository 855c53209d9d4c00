import { join } from 'node:path';
import { CREDENTIAL_PATHS, SETTINGS_DIRECTORY } from './credential-paths.ts';
import { isAtOrBelow, resolvePath, type SurveyFiles } from './survey-files.ts';

/** Says of a resolved path why it must never be shown to a tool, or undefined. */
export type MountWall = (path: string) => string | undefined;

export interface WalledPlaces {
  readonly home: string;
  readonly palyraHome: string;
  readonly workspace: string;
  readonly files: SurveyFiles;
  /** Of others than the operator, also where nothing is yet. */
  readonly secrets?: readonly string[];
}

/** Kernel interfaces, sockets and the host's own settings. */
const HOST_DIRECTORIES = ['/proc', '/sys', '/dev', '/run', '/var/run', '/etc', '/boot'];

/** Hold what belongs to many; things in them may be shown, they themselves never. */
const SHARED_DIRECTORIES = [
  '/home',
  '/root',
  '/Users',
  '/opt',
  '/srv',
  '/mnt',
  '/media',
  '/tmp',
  '/var',
  '/var/lib',
  '/var/tmp',
  '/nix',
  '/snap',
];

/** Of a path in the tool's view: not what it is called but what it shows decides, so links are resolved on both sides. */
export function mountWall({ home, palyraHome, workspace, files, secrets: others = [] }: WalledPlaces): MountWall {
  const bothWays = (path: string) => [path, resolvePath(files, path)];
  const secrets = [...CREDENTIAL_PATHS, SETTINGS_DIRECTORY].map((name) => join(home, name));
  const closed = [palyraHome, ...secrets].flatMap(bothWays);
  const kept = [home, workspace].flatMap(bothWays);

  return (path) => {
    // SECURITY: T-19 — nothing at, above or inside a secret, and nothing above the operator's home.
    if ([...closed, ...others].some((secret) => isAtOrBelow(path, secret)))
      return 'It lies where credentials are kept.';
    // A home of others may be the project itself, so only what is there now counts of it.
    const isHeld = (secret: string) => isAtOrBelow(secret, path);
    const isThere = (secret: string) => files.lstat(secret) !== undefined;
    if (closed.some(isHeld) || others.filter(isHeld).some(isThere)) return 'It holds credentials.';
    if (kept.some((place) => isAtOrBelow(place, path))) return 'It holds the home directory or the workspace.';
    if (HOST_DIRECTORIES.some((directory) => isAtOrBelow(path, directory))) return 'It belongs to the host.';
    if (SHARED_DIRECTORIES.some((directory) => isAtOrBelow(directory, path))) return 'It is too wide.';
    return undefined;
  };
}
