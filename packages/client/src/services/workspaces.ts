import type { Client as RpcClient } from '@connectrpc/connect';
import type { Workspace as WireWorkspace, WorkspaceService } from '@palyra/api';
import { ClientError } from '../client-error.ts';
import { said, time } from '../wire/plain.ts';
import { ask } from './call.ts';

/** A folder that agents may work in. */
export interface Workspace {
  readonly workspace_id: string;
  /** Its real path. */
  readonly root: string;
  readonly added_by: string;
  readonly added_at?: string;
}

export interface Workspaces {
  /** `added` is false when it was registered before. */
  add(path: string): Promise<{ readonly workspace: Workspace; readonly added: boolean }>;
  list(): Promise<readonly Workspace[]>;
  /** By id, or by path. */
  remove(workspace: string): Promise<void>;
}

export function createWorkspaces(rpc: RpcClient<typeof WorkspaceService>): Workspaces {
  return {
    async add(path) {
      const { workspace, added } = await ask(rpc.addWorkspace({ path }));
      if (workspace === undefined) throw new ClientError('client.protocol', 'palyrad told no workspace.');
      return { workspace: toWorkspace(workspace), added };
    },
    async list() {
      const { workspaces } = await ask(rpc.listWorkspaces({}));
      return workspaces.map(toWorkspace);
    },
    async remove(workspace) {
      await ask(rpc.removeWorkspace({ workspace }));
    },
  };
}

function toWorkspace({ workspaceId, root, addedBy, addedAt }: WireWorkspace): Workspace {
  return said<Workspace>({ workspace_id: workspaceId, root, added_by: addedBy, added_at: time(addedAt) });
}
