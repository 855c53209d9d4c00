import type { ToolIdentity } from '../launch-plan.ts';
import { SandboxError } from '../sandbox-error.ts';
import { readIdentityFacts } from './identity-facts.ts';
import { hostSurveyFiles } from './survey-files.ts';
import { lastUnusedId } from './tool-identity.ts';

/**
 * Whose gates are: nobody's, where root starts them.
 *
 * SECURITY: T-42, T-40 — neither root's, for a gate reads what tools send; nor a tool's or the workspace's owner's, who could look
 * into it; nor palyrad's, for who asks for one in the service level has the owner's rights and would get palyrad's by that.
 * Undefined where this process is no root: then there is one user for everything.
 */
export function chooseGateIdentity(): ToolIdentity | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const id = lastUnusedId(readIdentityFacts(hostSurveyFiles));
  if (id !== undefined) return { uid: id, gid: id };
  throw new SandboxError('sandbox.unsafe_identity', 'There is no uid left that is nobody’s.', {
    fix: 'Free some of 870000 to 879999 in /etc/subuid and /etc/subgid.',
  });
}
