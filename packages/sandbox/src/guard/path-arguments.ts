import { posix } from 'node:path';
import type { SandboxProfile } from '../profile.ts';
import { pathCandidates } from './path-candidates.ts';
import type { ProgramFiles } from './program-files.ts';
import { isWithin, resolvePath } from './resolve-path.ts';

/**
 * Which paths a command line may name. A guardrail, no wall: Tier B's file system is not isolated, a program may open
 * what no argument names, and a link may change between this check and the program's open.
 */
export interface PathScope {
  /** Absolute and resolved. */
  readonly cwd: string;
  readonly writable: readonly string[];
  readonly readable: readonly string[];
  readonly masked: readonly string[];
  readonly files: Pick<ProgramFiles, 'look'>;
}

export type PathAccess = 'read' | 'write';

/** Why a path is refused, as the end of a sentence; undefined when it is not. */
export type PathRefusal = string | undefined;

export interface PathScopeRequest {
  readonly profile: SandboxProfile;
  readonly cwd: string;
  /** Where the operator's tools lie. */
  readonly toolchainPaths: readonly string[];
  readonly files: Pick<ProgramFiles, 'look'>;
}

/** Devices that hold nothing of anybody, and the command's own streams. */
const HARMLESS: ReadonlySet<string> = new Set(
  ['null', 'stdin', 'stdout', 'stderr', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`),
);

/** Each costs a system call or more, and palyrad waits. */
const MOST_CANDIDATES = 20_000;

export function createPathScope({ profile, cwd, toolchainPaths, files }: PathScopeRequest): PathScope {
  const real = (paths: readonly string[]) => paths.flatMap((path) => realPath(path, files));
  const workspace = real([profile.workspace.root]);
  const writesWorkspace = profile.workspace.access === 'read-write';
  return {
    cwd: posix.normalize(cwd),
    writable: [...(writesWorkspace ? workspace : []), ...real(profile.writablePaths)],
    readable: [...(writesWorkspace ? [] : workspace), ...real(profile.readOnlyPaths), ...real(toolchainPaths)],
    // Also as written: what cannot be resolved stays hidden.
    masked: [...real(profile.maskedPaths), ...profile.maskedPaths.map((path) => posix.normalize(path))],
    files,
  };
}

/** An argument of which nothing is known: nothing in it may be a path to the outside. */
export function refuseArgument(argument: string, scope: PathScope): PathRefusal {
  const candidates = pathCandidates(argument);
  if (candidates.length > MOST_CANDIDATES) return 'has too many parts to be checked';
  for (const candidate of candidates) {
    const refusal = refusePath(candidate, 'read', scope);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

/** A text that is a path and nothing else. */
export function refusePath(path: string, access: PathAccess, scope: PathScope): PathRefusal {
  if (path.includes('\0')) return 'holds a NUL';
  // SECURITY: T-12 — no shell of ours expands it, but programs do.
  if (path.startsWith('~')) return 'names a home directory';
  if (HARMLESS.has(posix.normalize(path))) return undefined;
  // SECURITY: T-12 — both readings of `..` after a link: the kernel's, and that of programs that shorten the text first.
  const asWritten = path.startsWith('/') ? path : `${scope.cwd}/${path}`;
  return refuseAbsolute(asWritten, access, scope) ?? refuseAbsolute(posix.normalize(asWritten), access, scope);
}

function refuseAbsolute(path: string, access: PathAccess, scope: PathScope): PathRefusal {
  const resolved = resolvePath(path, scope.files);
  if (resolved.kind === 'unresolvable') return REASONS[resolved.reason];
  if (HARMLESS.has(resolved.path)) return undefined;
  if (scope.masked.some((masked) => isWithin(resolved.path, masked))) return 'is hidden by the profile';
  if (scope.writable.some((directory) => isWithin(resolved.path, directory))) return undefined;
  if (!scope.readable.some((directory) => isWithin(resolved.path, directory))) return 'leads out of the workspace';
  return access === 'read' ? undefined : 'is written to and may only be read';
}

const REASONS = {
  loop: 'leads through a loop of links',
  unreadable: 'leads through a directory that cannot be read',
  process_link: "leads through a process's own links",
} as const;

/** A directory that cannot be resolved contains nothing. */
function realPath(path: string, files: Pick<ProgramFiles, 'look'>): readonly string[] {
  const resolved = resolvePath(path, files);
  return resolved.kind === 'unresolvable' ? [] : [resolved.path];
}
