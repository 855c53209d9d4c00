import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { WorkspaceService } from '@palyra/api';
import type { RegisteredWorkspace, Workspaces } from '@palyra/gateway';
import { parseActor } from '@palyra/journal';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';

export interface WorkspaceServiceDeps {
  readonly workspaces: Workspaces;
  readonly authorizer: Pick<Authorizer, 'require'>;
}

export function createWorkspaceService(deps: WorkspaceServiceDeps): ServiceImpl<typeof WorkspaceService> {
  const { workspaces, authorizer } = deps;
  /** SECURITY: T-41 — a folder is nobody's own: who may widen where agents work is for policy to say. */
  const requireMay = (peer: AuthenticatedPeer, action: string) =>
    authorizer.require(peer, { action, resource: { type: 'Workspace', id: 'any' }, isOwn: false });
  return {
    async addWorkspace({ path }, context) {
      const peer = peerOf(context);
      requireMay(peer, 'workspace.add');
      const { workspace, isNew } = await workspaces.add({ path, by: parseActor(peer.principal) });
      return { workspace: workspaceOf(workspace), added: isNew };
    },
    async listWorkspaces() {
      return { workspaces: (await workspaces.list()).map(workspaceOf) };
    },
    async removeWorkspace({ workspace }, context) {
      const peer = peerOf(context);
      requireMay(peer, 'workspace.remove');
      await workspaces.remove({ workspace, by: parseActor(peer.principal) });
      return {};
    },
  };
}

function workspaceOf({ id, root, addedBy, addedAt }: RegisteredWorkspace) {
  return { workspaceId: id, root, addedBy, addedAt: timestampFromMs(addedAt) };
}
