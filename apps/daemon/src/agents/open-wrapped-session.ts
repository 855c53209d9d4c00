import { type Gateway, GatewayError, type OpenedSession, type Run, type Workspace } from '@palyra/gateway';
import type { TokenPeer } from '@palyra/identity';
import type { Clock, Logger } from '@palyra/primitives';
import type { Authenticate } from '../interceptors/authenticate.ts';
import { type AuthenticatedPeer, PEER } from '../interceptors/peer-context.ts';
import type { RunHubs } from '../runs/run-hubs.ts';
import { BOX_LISTENER, shownInBox } from './agent-outfits.ts';
import { type AgentSessions, createAgentSessions } from './agent-sessions.ts';
import { createOwnHubs } from './own-hubs.ts';
import type { OpenDoor } from './serve-door.ts';
import type { WrappedAgentSession } from './wrapped-sessions.ts';

/** What the services and the hooks of one box are made of. */
export interface BoxParts {
  readonly agentSessions: AgentSessions;
  readonly authenticate: Authenticate;
  readonly gateway: Gateway;
  readonly hubs: RunHubs;
  readonly workspace: Workspace;
}

export interface OpenWrappedDeps {
  readonly gateway: Gateway;
  readonly hubs: RunHubs;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whose settings its own began as. */
  readonly userHome: string;
  serve(parts: BoxParts): OpenDoor;
}

/** All that an agent can do by its listener: propose, look at what there is, and come for what it was allowed. */
const ACTIONS: readonly string[] = ['run.start', 'run.cancel', 'tool.execute', 'tool.list', 'daemon.status'];

/** Its calls are calls of the run that it was started in, and of no other. */
export async function openWrappedSession(session: WrappedAgentSession, deps: OpenWrappedDeps): Promise<OpenedSession> {
  const { caller, call } = session;
  const { id, workspace } = call.run;
  const entered = await deps.gateway.enterRun(caller, id);
  const hubs = createOwnHubs(deps.hubs, deps.clock);
  const only = async (_caller: unknown, wanted: string): Promise<Run> => {
    // SECURITY: T-41 — whoever learned the id of another run finds nothing.
    if (wanted !== id) throw notFound();
    return hubs.share(entered);
  };
  const gateway: Gateway = {
    ...deps.gateway,
    startRun: async () => hubs.share(entered),
    resumeRun: only,
    adoptRun: async (wanted) => only(undefined, wanted),
  };
  const agentSessions = createAgentSessions({
    ...deps,
    gateway,
    hubs,
    workspaces: { resolve: async () => workspace },
    home: { listener: BOX_LISTENER },
    asShown: shownInBox,
    caller: async () => caller,
  });
  const { door, close } = deps.serve({ agentSessions, authenticate: as(peerOf(session)), gateway, hubs, workspace });
  return {
    door,
    async close() {
      close();
      agentSessions.close();
    },
  };
}

/** SECURITY: T-36 — by the listener alone: nothing that is sent says who it is. */
function as(peer: AuthenticatedPeer): Authenticate {
  return async ({ values }) => {
    values.set(PEER, peer);
    return peer;
  };
}

function peerOf({ caller }: WrappedAgentSession): AuthenticatedPeer {
  return {
    via: 'token',
    token: caller.credential as TokenPeer['token'],
    principal: caller.actor,
    kind: 'agent',
    roles: [],
    groups: caller.groups,
    actions: ACTIONS,
    expiresAt: Number.MAX_SAFE_INTEGER,
  };
}

function notFound(): GatewayError {
  return new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
}
