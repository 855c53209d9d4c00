import type { Client as RpcClient } from '@connectrpc/connect';
import type { GrantService, Grant as WireGrant } from '@palyra/api';
import { SCOPES, type ScopeName } from '../run/tool-call-result.ts';
import { said, text, time } from '../wire/plain.ts';
import { ask } from './call.ts';

/** A yes that holds for more than one call. */
export interface Grant {
  readonly grant_id: string;
  readonly approval_id: string;
  readonly principal: string;
  /** Absent: in any session. */
  readonly session_id?: string;
  readonly workspace_id: string;
  readonly scope?: ScopeName;
  /** In words. */
  readonly covers: string;
  readonly decided_by: string;
  /** `active`, `revoked`, `expired` or `superseded`. */
  readonly state: string;
  readonly created_at?: string;
  readonly expires_at?: string;
}

export interface Grants {
  /** Newest first. */
  list(options?: { readonly principal?: string; readonly includeEnded?: boolean }): Promise<readonly Grant[]>;
  /** By its id or the last 4 or more characters of it. Resolves to its state. */
  revoke(id: string, reason?: string): Promise<string>;
}

export function createGrants(rpc: RpcClient<typeof GrantService>): Grants {
  return {
    async list({ principal = '', includeEnded = false } = {}) {
      const { grants } = await ask(rpc.listGrants({ principal, includeEnded }));
      return grants.map(toGrant);
    },
    async revoke(grantId, reason = '') {
      const { state } = await ask(rpc.revokeGrant({ grantId, reason }));
      return state;
    },
  };
}

function toGrant(wire: WireGrant): Grant {
  return said<Grant>({
    grant_id: wire.grantId,
    approval_id: wire.approvalId,
    principal: wire.principal,
    session_id: text(wire.sessionId),
    workspace_id: wire.workspaceId,
    scope: SCOPES[wire.scope],
    covers: wire.covers,
    decided_by: wire.decidedBy,
    state: wire.state,
    created_at: time(wire.createdAt),
    expires_at: time(wire.expiresAt),
  });
}
