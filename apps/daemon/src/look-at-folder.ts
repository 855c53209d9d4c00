import type { WorkspacesDeps } from '@palyra/gateway';
import type { Clock } from '@palyra/primitives';
import { createWorkspaceLook, type OperatorPlaces, type Sandbox, type SandboxProfile } from '@palyra/sandbox';

export interface LookDeps {
  readonly operator: OperatorPlaces;
  /** One with the rights of the workspaces' owner, where palyrad has them not. */
  readonly sandbox: Pick<Sandbox, 'plan'> | undefined;
  profileFor(workspace: string): SandboxProfile;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Whether a folder can be a workspace. As a service palyrad cannot even see it: then whoever would run commands there is
 * asked, and a path through a link is refused instead of followed.
 */
export function createFolderLook({ operator, sandbox, profileFor, clock }: LookDeps): WorkspacesDeps['look'] {
  if (sandbox === undefined) return createWorkspaceLook({ operator, now: clock.now });
  return async (path) => {
    const planning = await sandbox.plan({ argv: ['true'] }, profileFor(path));
    if (planning.kind !== 'refused') return { kind: 'ok', root: path.replace(/(?<=.)\/+$/, '') };
    return { kind: 'refused', message: planning.message, fix: planning.fix ?? 'Name the directory of one project.' };
  };
}
