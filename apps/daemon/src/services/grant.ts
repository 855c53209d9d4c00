import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { GrantSchema, GrantService } from '@palyra/api';
import type { Approvals, Grant, GrantState } from '@palyra/approvals';
import { peerOf } from '../interceptors/peer-context.ts';
import { wireScope } from '../wire/tool-call-result.ts';
import { requireHuman } from './human-peer.ts';

export interface GrantServiceDeps {
  readonly approvals: Pick<Approvals, 'grants' | 'revoke' | 'findGrant'>;
}

export function createGrantService({ approvals }: GrantServiceDeps): ServiceImpl<typeof GrantService> {
  return {
    async listGrants({ principal, includeEnded }) {
      const grants = await approvals.grants({
        ...(principal === '' ? {} : { principal }),
        ...(includeEnded ? {} : { state: 'live' }),
      });
      return { grants: grants.map(wireGrant) };
    },
    async revokeGrant({ grantId }, context) {
      const by = requireHuman(peerOf(context));
      const outcome = await approvals.revoke({ grantId: await approvals.findGrant(grantId), by });
      return { state: STATES[outcome.kind === 'revoked' ? 'revoked' : outcome.state] };
    },
  };
}

const STATES: Readonly<Record<GrantState, string>> = {
  live: 'active',
  revoked: 'revoked',
  expired: 'expired',
  fallen: 'superseded',
};

function wireGrant(grant: Grant): MessageInitShape<typeof GrantSchema> {
  return {
    grantId: grant.grantId,
    approvalId: grant.approvalId,
    principal: grant.principal,
    sessionId: grant.session ?? '',
    workspaceId: grant.workspace,
    scope: wireScope(grant.scope),
    covers: grant.covers.join('; '),
    decidedBy: grant.deciders.join(', '),
    state: STATES[grant.state],
    createdAt: timestampFromMs(grant.issuedAt),
    expiresAt: timestampFromMs(grant.expiresAt),
  };
}
