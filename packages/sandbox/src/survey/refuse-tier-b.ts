import type { LandlockPlan, ToolIdentity } from '../launch-plan.ts';
import type { LauncherFacts } from '../launcher/start-launcher.ts';
import type { SandboxProfile } from '../profile.ts';
import type { Refusal } from '../run-result.ts';

export interface TierBQuestion {
  readonly profile: SandboxProfile;
  readonly identity: ToolIdentity | undefined;
  readonly launcher: Pick<LauncherFacts, 'landlockVersion' | 'only'>;
  readonly landlock: LandlockPlan | undefined;
  readonly isWorkspaceHidden: boolean;
  /** Names of groups that the tool would have and that mean power over the machine. */
  readonly powerfulGroups: readonly string[];
}

/** The first version of Landlock that keeps signals in. */
const SIGNAL_SCOPE = 6;
/** The first one that knows every way to write a file. */
const TRUNCATION = 3;
/** As `native/request.h` has it. */
const MOST_RULES = 4096;

/** SECURITY: T-20, T-40 — Tier B is no wall; what it promises all the same is kept, or the command is refused. */
export function refuseTierB(question: TierBQuestion): Refusal | undefined {
  const { profile, identity, launcher, landlock } = question;
  const isAgents = profile.startedFor === 'agent';
  // Who works for one user looks after the workspace with that user's uid, and could be ended by it.
  if (launcher.only !== undefined && isAgents && launcher.landlockVersion < SIGNAL_SCOPE) {
    return refused('Without Landlock a Tier B tool could end the process that looks after the workspace.', NEWER);
  }
  const isOneUid = identity === undefined && isAgents;
  if (isOneUid && launcher.landlockVersion < SIGNAL_SCOPE) {
    return refused('Without Landlock a Tier B tool with the operator’s uid could reach palyrad itself.', OWN_USER);
  }
  if (isOneUid && question.powerfulGroups.length > 0) {
    const names = question.powerfulGroups.join(', ');
    return refused(`A Tier B tool would keep the operator’s groups, and ${names} can mean root.`, OWN_USER);
  }
  const { workspace, readOnlyPaths, maskedPaths } = profile;
  const hasCarvings = workspace.access === 'read-only' || readOnlyPaths.length > 0 || maskedPaths.length > 0;
  if (hasCarvings && launcher.landlockVersion < TRUNCATION) {
    return refused('Only Landlock keeps a Tier B tool from files, and this kernel’s does not.', 'Use Tier C.');
  }
  if ((landlock?.rules.length ?? 0) > MOST_RULES) {
    return refused('Too many files lie beside those that must be hidden.', 'Use Tier C.');
  }
  if (question.isWorkspaceHidden) {
    return refused(
      'The workspace lies in a directory that only root may enter, and a Tier B tool is not root.',
      'Use Tier C, which hands it over, or move the workspace.',
    );
  }
  return undefined;
}

const NEWER = 'Use Tier C, or Linux 6.12 and later.';
const OWN_USER = 'Use Tier C, or run palyrad as a service with its own user.';

function refused(message: string, fix: string): Refusal {
  return { kind: 'refused', code: 'sandbox.unsupported', message, fix };
}
