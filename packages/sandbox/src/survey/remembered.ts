import type { LandlockPlan } from '../launch-plan.ts';
import type { SandboxProfile } from '../profile.ts';
import { CREDENTIAL_PATHS } from './credential-paths.ts';
import { readIdentityFacts } from './identity-facts.ts';
import { isRecent, remember, type Sighting } from './known-directories.ts';
import { isFresh, landlockRules } from './landlock-rules.ts';
import { type MountWall, mountWall } from './mount-walls.ts';
import { ownersCredentials } from './owners-credentials.ts';
import { isAtOrBelow, resolvePath } from './survey-files.ts';
import type { SurveyDeps } from './survey-host.ts';
import { chooseIdentity, type IdentityChoice } from './tool-identity.ts';
import { findToolchains, type Toolchains } from './toolchains.ts';
import { checkWorkspace, type WorkspaceCheck } from './workspace.ts';

export type SoundWorkspace = Extract<WorkspaceCheck, { kind: 'ok' }>;

/** Agents call many times a second, and the answer takes longer than the rest of a plan. */
export function rememberWorkspaces(deps: SurveyDeps): (root: string) => WorkspaceCheck {
  const { operator, files, directories, now } = deps;
  const known = new Map<string, Sighting & { readonly check: SoundWorkspace }>();
  return (root) => {
    const before = known.get(root);
    const seen: Sighting = { at: now(), identity: directories.identity(root) };
    if (before !== undefined && isRecent(before, seen)) return before.check;
    const check = checkWorkspace({ ...operator, root, files });
    // Under its real name only: where a link leads is looked at each time.
    if (check.kind === 'ok' && check.root === root) remember(known, root, { ...seen, check });
    else known.delete(root);
    return check;
  };
}

type ChooseIdentity = (workspace: SoundWorkspace, profile: Pick<SandboxProfile, 'workspace'>) => IdentityChoice;

export function rememberIdentities({ launcher, files }: SurveyDeps): ChooseIdentity {
  const known = new Map<string, IdentityChoice>();
  return ({ owner }, { workspace: { access } }) => {
    const key = `${owner.uid} ${access}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const choice = chooseIdentity({
      launcherUid: launcher.uid,
      only: launcher.only,
      workspaceOwner: owner,
      access,
      ...readIdentityFacts(files),
    });
    known.set(key, choice);
    return choice;
  };
}

export interface Surroundings {
  readonly toolchains: Toolchains;
  readonly wall: MountWall;
}

export function rememberSurroundings(deps: SurveyDeps): (workspace: string) => Surroundings {
  const { operator, files, launcher } = deps;
  const known = new Map<string, Surroundings>();
  return (workspace) => {
    const before = known.get(workspace);
    // What was updated or uninstalled since lies elsewhere, or nowhere: nothing could be shown in its place.
    if (before?.toolchains.readOnly.every((path) => files.lstat(path) !== undefined) === true) return before;
    const user = launcher.only ?? { uid: launcher.uid, gid: launcher.gid };
    const found = {
      toolchains: findToolchains({ ...operator, workspace, operator: user, files }),
      // SECURITY: T-19, T-42 — root would hand them over.
      wall: mountWall({
        ...operator,
        workspace,
        files,
        secrets: ownersCredentials(files.stat(workspace)?.uid ?? 0, files),
      }),
    };
    remember(known, workspace, found);
    return found;
  };
}

export function rememberLandlock(deps: SurveyDeps) {
  const { operator, files, directories, launcher } = deps;
  const known = new Map<string, LandlockPlan>();
  return (profile: SandboxProfile, root: string, toolUid: number): LandlockPlan | undefined => {
    if (launcher.landlockVersion === 0) return undefined;
    const { access } = profile.workspace;
    // What lies in the workspace is the tool's to read.
    const owners = ownersCredentials(toolUid, files).filter((path) => !isAtOrBelow(path, root));
    const key = JSON.stringify([access, root, profile.maskedPaths, profile.readOnlyPaths, owners]);
    const before = known.get(key);
    if (before !== undefined && isFresh(before, directories)) return before;
    const real = (path: string) => resolvePath(files, path);
    // SECURITY: T-40 — our own state and credentials, by where they really are: the operator's, and those of the user that root
    // gives the tool, which owns them.
    const credentials = [...CREDENTIAL_PATHS.map((path) => `${operator.home}/${path}`), ...owners];
    // What is typed into the operator's terminals can be read, too; a tool's own is /dev/tty.
    const hidden = [operator.palyraHome, ...credentials, ...profile.maskedPaths, '/dev/pts'].map(real);
    // SECURITY: T-40, T-17 — settings of other processes (oom_score_adj) are files in /proc; cgroups that were given to the user,
    // the tool's own with its limits and palyrad's (cgroup.kill), are files in /sys.
    const readOnly = ['/proc', '/sys', ...profile.readOnlyPaths.map(real), ...(access === 'read-only' ? [root] : [])];
    const plan = landlockRules({ hidden, readOnly, needed: [root] }, directories);
    remember(known, key, plan);
    return plan;
  };
}
