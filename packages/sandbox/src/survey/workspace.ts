import { dirname, isAbsolute, join } from 'node:path';
import type { SandboxErrorCode } from '../sandbox-error.ts';
import { CREDENTIAL_PATHS, SETTINGS_DIRECTORY } from './credential-paths.ts';
import { gitDirectoriesOf } from './git-directories.ts';
import { ownersCredentialsNow } from './owners-credentials.ts';
import { isAtOrBelow, resolvePath, type SurveyFiles, withRememberedPaths } from './survey-files.ts';

export type WorkspaceCheck = (CheckedFolder & CheckedGit) | RefusedFolder;

export type FolderCheck = CheckedFolder | RefusedFolder;

interface CheckedFolder {
  readonly kind: 'ok';
  /** Every link resolved: what is checked is what is mounted. */
  readonly root: string;
  readonly owner: { readonly uid: number; readonly gid: number };
}

interface CheckedGit {
  /** Of a worktree: the repository that it belongs to. */
  readonly gitDirectories: readonly string[];
  /** Why git will not work in it, when that is so. */
  readonly gitRemark: string | undefined;
}

interface RefusedFolder {
  readonly kind: 'refused';
  readonly code: SandboxErrorCode;
  readonly message: string;
  readonly fix: string;
}

export interface WorkspaceQuestion {
  readonly root: string;
  readonly home: string;
  readonly palyraHome: string;
  readonly files: SurveyFiles;
}

/** Nothing in them is anybody's work. */
const SYSTEM_DIRECTORIES = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/lost+found',
  '/nix',
  '/proc',
  '/run',
  '/sbin',
  '/snap',
  '/sys',
  '/usr',
  '/var',
  '/Library',
  '/System',
  '/private',
];

/** Things in them may be, they themselves hold too much: also places inside the directories above that people work in. */
const SHARED_DIRECTORIES = [
  '/home',
  '/root',
  '/Users',
  '/opt',
  '/srv',
  '/mnt',
  '/media',
  '/tmp',
  '/var/home',
  '/var/www',
  '/var/tmp',
  '/usr/src',
  '/run/media',
  '/private/tmp',
  '/private/var/folders',
];

const HOME_PARENTS = ['/home', '/Users', '/var/home'];
const HOME_MARKS = ['.ssh', '.gnupg', '.profile', '.bashrc', '.zshrc'];

/** With what git needs of it, which is mounted besides. */
export function checkWorkspace(question: WorkspaceQuestion): WorkspaceCheck {
  const files = withRememberedPaths(question.files);
  const { home, palyraHome } = question;
  const checked = checkFolder({ ...question, files });
  if (checked.kind === 'refused') return checked;
  const git = gitDirectoriesOf(checked.root, files);
  // SECURITY: T-19 — a repository is mounted as the workspace is, so it must be as harmless.
  const around = { home, palyraHome, files, ownerUid: checked.owner.uid };
  const isSafe = git.directories.every((path) => whyUnsafe(path, around) === undefined);
  return {
    ...checked,
    gitDirectories: isSafe ? git.directories : [],
    gitRemark: isSafe ? git.remark : 'Its repository lies where a tool must not reach.',
  };
}

// SECURITY: T-41 — the caller names the workspace, and a tool may write all of it: a wide one is no sandbox.
export function checkFolder({ root, home, palyraHome, files }: WorkspaceQuestion): FolderCheck {
  if (!isAbsolute(root)) return refused('The workspace is not an absolute path.');
  const real = files.realPath(root);
  const facts = real === undefined ? undefined : files.stat(real);
  if (real === undefined || facts?.kind !== 'directory') return refused('The workspace is not a directory.');
  // SECURITY: T-14 — whoever can write a directory above can plant a link, and we would follow it with our own rights.
  if (real !== trimmed(root)) return refused('The workspace is given by a way that leads through a link.', REAL_PATH);

  const reason = whyUnsafe(real, { home, palyraHome, files, ownerUid: facts.uid });
  if (reason !== undefined) return refused(reason);
  return { kind: 'ok', root: real, owner: { uid: facts.uid, gid: facts.gid } };
}

interface Surroundings extends Omit<WorkspaceQuestion, 'root'> {
  /** Whose workspace it is, and so whose credentials may be near. */
  readonly ownerUid: number;
}

function whyUnsafe(path: string, { home, palyraHome, files, ownerUid }: Surroundings): string | undefined {
  const bothWays = (place: string) => [place, resolvePath(files, place)];
  if (path === '/') return 'The workspace is the whole file system.';
  if (bothWays(home).some((place) => isAtOrBelow(place, path)) || isSomebodysHome(path, files)) {
    return 'The workspace holds a home directory.';
  }
  if (bothWays(palyraHome).some((place) => isAtOrBelow(place, path) || isAtOrBelow(path, place))) {
    return 'The workspace holds, or lies in, the daemon’s own directory.';
  }
  const secrets = [...credentialPlaces(home, files), ...ownersCredentialsNow(ownerUid, files)];
  if (secrets.some((place) => isAtOrBelow(place, path) || isAtOrBelow(path, place))) {
    return 'The workspace holds, or lies in, a place of credentials.';
  }
  if (bothWays(join(home, SETTINGS_DIRECTORY)).includes(path))
    return 'The workspace holds the settings of every program.';
  if (SHARED_DIRECTORIES.some((directory) => isAtOrBelow(directory, path))) return 'The workspace is too wide.';
  if (SHARED_DIRECTORIES.some((directory) => isAtOrBelow(path, directory))) return undefined;
  if (isInHome(path, bothWays(home))) return undefined;
  if (SYSTEM_DIRECTORIES.some((directory) => isAtOrBelow(path, directory)))
    return 'The workspace belongs to the system.';
  return undefined;
}

/** By name and by where they really are. Most are not there, and one look into the home says so of all of them. */
function credentialPlaces(home: string, files: SurveyFiles): readonly string[] {
  const names = new Set(files.list(home));
  const base = join(home, '/');
  const realHome = resolvePath(files, home);
  const follow = createFollow(files);
  return CREDENTIAL_PATHS.flatMap((name) => {
    const place = `${base}${name}`;
    const steps = name.split('/');
    // A home that cannot be listed can still be entered by name.
    const isAbsent = names.size > 0 && !names.has(steps[0] ?? '');
    const real = isAbsent ? below(realHome, name) : follow(realHome, steps);
    return real === place ? [place] : [place, real];
  });
}

/** Where names below a real directory lead: only a link leads elsewhere, so of nothing else it is asked where it really is. */
function createFollow(files: SurveyFiles): (directory: string, names: readonly string[]) => string {
  const known = new Map<string, string | undefined>();
  /** Undefined: it is not there. */
  const step = (path: string): string | undefined => {
    const facts = files.lstat(path);
    if (facts === undefined) return undefined;
    return facts.kind === 'link' ? (files.realPath(path) ?? path) : path;
  };
  return (directory, names) => {
    let real = directory;
    for (const [at, name] of names.entries()) {
      const path = below(real, name);
      if (!known.has(path)) known.set(path, step(path));
      const next = known.get(path);
      if (next === undefined) return below(real, names.slice(at).join('/'));
      real = next;
    }
    return real;
  };
}

function below(directory: string, name: string): string {
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** Without the slashes at its end. */
function trimmed(path: string): string {
  return path.length > 1 ? path.replace(/\/+$/, '') : path;
}

/** Also of others: a daemon that runs as root reaches them all. */
function isSomebodysHome(path: string, files: SurveyFiles): boolean {
  return HOME_PARENTS.includes(dirname(path)) && HOME_MARKS.some((name) => files.lstat(join(path, name)) !== undefined);
}

/** Some accounts live in /var/lib, and what is in their home is their work; a home of `/` says nothing. */
function isInHome(path: string, homes: readonly string[]): boolean {
  const holdsHome = (directory: string) => homes.some((home) => home !== directory && isAtOrBelow(home, directory));
  const isSystem = SYSTEM_DIRECTORIES.some((directory) => isAtOrBelow(path, directory) && !holdsHome(directory));
  return !isSystem && homes.some((home) => isAtOrBelow(path, home));
}

const REAL_PATH = 'Give its real path (realpath).';

function refused(message: string, fix = 'Name the directory of one project.'): RefusedFolder {
  return {
    kind: 'refused',
    code: 'sandbox.unsafe_workspace',
    message,
    fix,
  };
}
