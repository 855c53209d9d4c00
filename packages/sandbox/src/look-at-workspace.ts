import { hostDirectories } from './survey/directory-files.ts';
import { isRecent, remember, type Sighting } from './survey/known-directories.ts';
import { hostSurveyFiles, withRememberedPaths } from './survey/survey-files.ts';
import type { OperatorPlaces } from './survey/survey-host.ts';
import { checkFolder } from './survey/workspace.ts';

/** A directory as it really is, or why commands would be refused in it. */
export type WorkspaceLook =
  | { readonly kind: 'ok'; readonly root: string }
  | { readonly kind: 'refused'; readonly message: string; readonly fix: string };

export interface WorkspaceLookDeps {
  readonly operator: Pick<OperatorPlaces, 'home' | 'palyraHome'>;
  now(): number;
}

/**
 * For whoever keeps a list of workspaces: the same rules as for a command, on the path with its links resolved. Each hook of an
 * agent asks, and waits: where homes and credentials are, some thirty questions to the file system, is asked once a second.
 */
export function createWorkspaceLook({ operator, now }: WorkspaceLookDeps): (path: string) => WorkspaceLook {
  const { home, palyraHome } = operator;
  const known = new Map<string, Sighting>();
  return (path) => {
    const files = withRememberedPaths(hostSurveyFiles);
    const root = files.realPath(path) ?? path;
    const seen: Sighting = { at: now(), identity: hostDirectories.identity(root) };
    const before = known.get(root);
    // By its real path, which was found out just now.
    if (before !== undefined && isRecent(before, seen)) return { kind: 'ok', root };
    known.delete(root);
    const check = checkFolder({ root, home, palyraHome, files });
    if (check.kind === 'refused') return { kind: 'refused', message: check.message, fix: check.fix };
    if (seen.identity !== undefined) remember(known, root, seen);
    return { kind: 'ok', root: check.root };
  };
}
