import {
  type Gateway,
  GatewayError,
  type OpenedSession,
  type Redactor,
  type Run,
  type Workspace,
} from '@palyra/gateway';
import type { TokenPeer } from '@palyra/identity';
import type { Clock, Logger } from '@palyra/primitives';
import { DaemonError } from '../daemon-error.ts';
import type { Authenticate } from '../interceptors/authenticate.ts';
import { type AuthenticatedPeer, PEER } from '../interceptors/peer-context.ts';
import type { RunHubs } from '../runs/run-hubs.ts';
import { BOX_LISTENER, shownInBox } from './agent-outfits.ts';
import { type AgentSessions, createAgentSessions } from './agent-sessions.ts';
import { hangUpLater } from './hang-up-later.ts';
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
  readonly redactor: Pick<Redactor, 'redactText'>;
  /** Whose settings its own began as. */
  readonly userHome: string;
  /** Whether the device that began the run counts still. */
  counts(device: string): Promise<boolean>;
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
  const { deviceId } = call.run.caller;
  // SECURITY: T-35 — looked up for each: whoever is in the box is no more than the one who began the run, and no longer.
  const checked = async () => {
    if (deviceId !== undefined && !(await deps.counts(deviceId))) throw notAnyMore();
    return caller;
  };
  const agentSessions = createAgentSessions({
    ...deps,
    gateway,
    hubs,
    workspaces: { resolve: async () => workspace },
    home: { listener: BOX_LISTENER },
    asShown: shownInBox,
    within: workspace.root,
    caller: checked,
  });
  const authenticate = as(peerOf(session), checked);
  const { door, close } = deps.serve({ agentSessions, authenticate, gateway, hubs, workspace });
  const over = new AbortController();
  void hangUpLater({ checked, close, clock: deps.clock, signal: over.signal });
  return {
    door,
    async close() {
      over.abort('over');
      close();
      agentSessions.close();
    },
  };
}

/** SECURITY: T-36 — by the listener alone: nothing that is sent says who it is. */
function as(peer: AuthenticatedPeer, checked: () => Promise<unknown>): Authenticate {
  return async ({ values }) => {
    await checked();
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

function notAnyMore(): DaemonError {
  return new DaemonError(
    'daemon.not_authenticated',
    'The device that this agent was started with does not count any more.',
    {
      fix: 'palyra device list shows what there is.',
    },
  );
}

function notFound(): GatewayError {
  return new GatewayError('gateway.run_not_found', 'There is no such run of this credential.');
}
