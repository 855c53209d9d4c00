import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';
import type { MaskedPath } from './host-survey.ts';
import type { MountWall } from './mount-walls.ts';
import type { SurveyFiles } from './survey-files.ts';

export interface ProfilePaths {
  /** Every link resolved: what was looked at is what is mounted. */
  readonly readOnly: readonly string[];
  readonly writable: readonly string[];
  readonly masked: readonly MaskedPath[];
}

export interface PathQuestion {
  readonly profile: Pick<SandboxProfile, 'readOnlyPaths' | 'writablePaths' | 'maskedPaths'>;
  /** Files with credentials in what is shown anyway. */
  readonly credentials: readonly string[];
  readonly wall: MountWall;
  readonly files: SurveyFiles;
}

/** What a profile names besides the workspace. A mask of what is not there hides nothing, and is left out. */
export function resolveProfilePaths(question: PathQuestion): ({ readonly kind: 'ok' } & ProfilePaths) | Refusal {
  const { profile, credentials, wall, files } = question;
  const shown = [...profile.readOnlyPaths, ...profile.writablePaths].map((path) => files.realPath(path));
  if (shown.includes(undefined)) {
    return invalid('A path of the profile is not there.', 'Make it first, or take it out of the profile.');
  }
  // SECURITY: T-14 — as for the workspace: a link on the way is somebody's, and would be followed with our rights.
  const given = [...profile.readOnlyPaths, ...profile.writablePaths];
  if (shown.some((path, at) => path !== given[at]?.replace(/(?<=.)\/$/, ''))) {
    return invalid('A path of the profile leads through a link.', 'Write where it really is (realpath).');
  }
  // SECURITY: T-19 — a profile is data that others write: our own state and credentials are shown to no tool.
  const reason = shown.map((path) => wall(path ?? '/')).find((found) => found !== undefined);
  if (reason !== undefined) {
    return invalid(`A path of the profile must not be shown to a tool. ${reason}`, 'Take it out of the profile.');
  }
  const count = profile.readOnlyPaths.length;
  const real = shown.flatMap((path) => path ?? []);
  const everyMasked = [...profile.maskedPaths, ...credentials].flatMap((path) => files.realPath(path) ?? []);
  // In a masked directory there is nothing to be masked.
  const masked = [...new Set(everyMasked)].filter((path, _, all) => !all.some((other) => path.startsWith(`${other}/`)));
  return {
    kind: 'ok',
    readOnly: innermostLast(real.slice(0, count)),
    writable: innermostLast(real.slice(count)),
    masked: masked.map((path) => ({ path, kind: files.stat(path)?.kind === 'directory' ? 'directory' : 'file' })),
  };
}

/** In the order of mounting: a later mount covers what lies in it. */
function innermostLast(paths: readonly string[]): readonly string[] {
  return paths.toSorted((one, other) => one.length - other.length);
}

function invalid(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.invalid_profile', message, fix };
}
