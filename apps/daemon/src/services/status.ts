import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { StatusService } from '@palyra/api';
import type { SeenAgent } from '@palyra/gateway';
import type { ActivePolicies } from '@palyra/policy';
import type { TierReport } from '@palyra/sandbox';
import type { Authorizer } from '../interceptors/authorize.ts';
import { type AuthenticatedPeer, peerOf } from '../interceptors/peer-context.ts';

/** What is told of a tier. */
export type StatusTier = Pick<TierReport, 'tier' | 'state' | 'executor' | 'reason' | 'fix'>;

export interface StatusServiceDeps {
  readonly about: {
    readonly version: string;
    readonly pid: number;
    readonly startedAt: number;
    readonly storage: 'sqlite' | 'postgres';
    readonly preset: string;
    readonly journalOrigin: string;
    readonly approverKey: 'protected' | 'unprotected';
  };
  readonly policies: Pick<ActivePolicies, 'current' | 'pending'>;
  readonly interrupted: readonly string[];
  readonly authorizer: Pick<Authorizer, 'may' | 'require'>;
  agents(): Promise<readonly SeenAgent[]>;
  openQuestions(): Promise<number>;
  /** Tried once, when somebody first asks. */
  host(): Promise<{ readonly tiers: readonly StatusTier[] }>;
  separationOf(peer: AuthenticatedPeer): string;
  listeners(): readonly { readonly name: string; readonly address: string }[];
  /** Ends palyrad once this call is answered. */
  stop(how: { readonly now: boolean }): void;
}

export function createStatusService(deps: StatusServiceDeps): ServiceImpl<typeof StatusService> {
  const { about, policies, interrupted, authorizer } = deps;
  return {
    async getStatus(_request, context) {
      const peer = peerOf(context);
      const [agents, questions, host, pending] = await Promise.all([
        deps.agents(),
        deps.openQuestions(),
        deps.host(),
        policies.pending(),
      ]);
      // SECURITY: T-41 — of other principals an agent learns nothing here, neither who they are nor what they run.
      const isAllowed = authorizer.may(peer, {
        action: 'run.read',
        resource: { type: 'Run', id: 'any' },
        isOwn: false,
      });
      const shown = isAllowed ? agents : agents.filter(({ principal }) => principal === peer.principal);
      return {
        version: about.version,
        pid: BigInt(about.pid),
        startedAt: timestampFromMs(about.startedAt),
        separation: deps.separationOf(peer),
        tiers: host.tiers.map(tierOf),
        agents: shown.map(({ principal, coverage, openRuns, lastSeenAt }) => ({
          principal,
          coverage,
          openRuns,
          lastSeenAt: timestampFromMs(lastSeenAt),
        })),
        policySetSha256: policies.current().digest,
        preset: about.preset,
        hasPendingPolicyEdits: pending,
        storage: about.storage,
        openRuns: shown.reduce((sum, { openRuns }) => sum + openRuns, 0),
        openQuestions: isAllowed ? questions : 0,
        journalOrigin: about.journalOrigin,
        interruptedCalls: isAllowed ? [...interrupted] : [],
        listeners: deps.listeners().map((each) => ({ ...each })),
        approverKey: about.approverKey,
      };
    },
    shutdown({ now }, context) {
      authorizer.require(peerOf(context), {
        action: 'daemon.stop',
        resource: { type: 'Workspace', id: 'any' },
        isOwn: false,
      });
      deps.stop({ now });
      return {};
    },
  };
}

function tierOf({ tier, state, executor, reason, fix }: StatusTier) {
  return {
    tier,
    available: state === 'available',
    says: reason ?? executor,
    fix: fix ?? '',
  };
}
