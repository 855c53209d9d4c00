import { hostSurveyFiles, withRememberedPaths } from './survey/survey-files.ts';
import type { OperatorPlaces } from './survey/survey-host.ts';
import { checkFolder } from './survey/workspace.ts';

/** A directory as it really is, or why commands would be refused in it. */
export type WorkspaceLook =
  | { readonly kind: 'ok'; readonly root: string }
  | { readonly kind: 'refused'; readonly message: string; readonly fix: string };

/** For whoever keeps a list of workspaces: the same rules as for a command, on the path with its links resolved. */
export function lookAtWorkspace(path: string, operator: Pick<OperatorPlaces, 'home' | 'palyraHome'>): WorkspaceLook {
  // Each hook of an agent asks, and waits: of what is looked at twice it is asked once.
  const files = withRememberedPaths(hostSurveyFiles);
  const real = files.realPath(path) ?? path;
  const { home, palyraHome } = operator;
  const check = checkFolder({ root: real, home, palyraHome, files });
  if (check.kind === 'ok') return { kind: 'ok', root: check.root };
  return { kind: 'refused', message: check.message, fix: check.fix };
}
