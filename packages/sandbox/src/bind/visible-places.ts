import type { HostSurvey } from '../survey/host-survey.ts';
import { isAtOrBelow } from '../survey/survey-files.ts';

/** A part of the host that a tool sees. */
export interface VisiblePlace {
  /** Where its mount begins. */
  readonly root: string;
  /** The system's or a toolchain: only there may a file be run where it is. */
  readonly isSystem: boolean;
  /** Root's files look like the tool's there. */
  readonly isMapped: boolean;
}

/** Of a resolved path; undefined where the tool sees nothing. */
export function placeOf(path: string, survey: HostSurvey, tier: 'B' | 'C'): VisiblePlace | undefined {
  if (survey.masked.some((masked) => isAtOrBelow(path, masked.path))) return undefined;
  const places = placesOf(survey, tier).filter(({ root }) => isAtOrBelow(path, root));
  return places.reduce<VisiblePlace | undefined>(
    (nearest, place) => (place.root.length >= (nearest?.root.length ?? 0) ? place : nearest),
    undefined,
  );
}

/** Where tools under this survey's profile may write, or somebody else's under another one. */
export function writableRoots({ workspace, paths }: HostSurvey): readonly string[] {
  return [workspace.root, ...workspace.gitDirectories, ...paths.writable];
}

/** In the order of the mounts: of two at one place the later one is seen. */
function placesOf(survey: HostSurvey, tier: 'B' | 'C'): readonly VisiblePlace[] {
  const { systemRoots, systemFiles, toolchains, paths, idmapWorkspace } = survey;
  const roots = systemRoots.filter(({ kind }) => kind === 'directory').map(({ path }) => path);
  const mounted = systemFiles.filter(({ kind }) => kind === 'mount').map(({ path }) => path);
  // Tier B shows the host.
  const system = [...(tier === 'B' ? ['/'] : []), ...roots, ...mounted, ...toolchains.readOnly];
  return [
    ...system.map((root) => ({ root, isSystem: true, isMapped: false })),
    ...writableRoots(survey).map((root) => ({ root, isSystem: false, isMapped: idmapWorkspace })),
    // SECURITY: T-04 — read-only here; it may be the workspace of somebody else.
    ...paths.readOnly.map((root) => ({ root, isSystem: false, isMapped: false })),
  ];
}
