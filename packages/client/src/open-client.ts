import { createClient } from '@connectrpc/connect';
import {
  ApprovalService,
  DeviceService,
  GrantService,
  JournalService,
  PolicyService,
  RunService,
  StatusService,
  ToolService,
  WorkspaceService,
} from '@palyra/api';
import { type Clock, createIdSource } from '@palyra/primitives';
import type { Channel } from './connection/open-channel.ts';
import { createReconnect, type ReconnectOptions } from './connection/reconnect.ts';
import { type CollectOptions, collectCall } from './run/collect-call.ts';
import { openRun, type Run, type RunDeps } from './run/open-run.ts';
import type { ToolCallResult } from './run/tool-call-result.ts';
import { placeOfRun } from './run/watch-run.ts';
import { type Approvals, createApprovals } from './services/approvals.ts';
import { ask } from './services/call.ts';
import { createDevices, type Devices } from './services/devices.ts';
import { createGrants, type Grants } from './services/grants.ts';
import { createJournal, type Journal } from './services/journal.ts';
import { createPolicies, type Policies } from './services/policies.ts';
import { createRuns, type Runs } from './services/runs.ts';
import { type Status, toStatus } from './services/status.ts';
import { createTokens, type Tokens } from './services/tokens.ts';
import { createTools, type Tools } from './services/tools.ts';
import { createWorkspaces, type Workspaces } from './services/workspaces.ts';

export interface StartRunOptions {
  /** A registered workspace, by its path or a path inside it, or by its id. The only one there is unless told. */
  readonly workspace?: string;
  /** One of this credential's to go on with; a new one unless told. */
  readonly session?: string;
  /** It serves an agent's MCP client, and its calls are recorded as such. */
  readonly surface?: 'mcp' | 'wrap';
}

/** A connection to palyrad. Every method throws `ClientError`; its code is the same as on the command line. */
export interface Client extends Disposable {
  startRun(options?: StartRunOptions): Promise<Run>;
  /** Goes on with a run that this credential began, after the last event that is known of it: `run.sequence`. */
  resumeRun(id: string, afterSequence?: number): Promise<Run>;
  /**
   * Comes for a command that an agent's hook was allowed, which runs now. Resolves when it is attested; aborting the
   * signal ends it.
   */
  collect(callId: string, options: CollectOptions): Promise<ToolCallResult>;
  readonly tools: Tools;
  readonly runs: Runs;
  readonly approvals: Approvals;
  readonly grants: Grants;
  readonly policies: Policies;
  readonly journal: Journal;
  readonly workspaces: Workspaces;
  readonly devices: Devices;
  readonly tokens: Tokens;
  status(): Promise<Status>;
  /** Ends palyrad: what runs may end within the bound, or is cancelled `now`. */
  shutdown(how?: 'gracefully' | 'now'): Promise<void>;
  /** Open runs go on at palyrad for a while, and can be resumed. */
  close(): void;
}

export interface ClientDeps {
  readonly channel: Channel;
  readonly reconnect?: ReconnectOptions;
  readonly clock?: Clock;
}

export function openClient({ channel, reconnect = {}, clock }: ClientDeps): Client {
  const { transport } = channel;
  const closing = new AbortController();
  const ids = createIdSource();
  const deps: RunDeps = {
    rpc: createClient(RunService, transport),
    exchange: channel.exchange,
    signal: closing.signal,
    connect: () => channel.connect(),
    createReconnect: () => createReconnect({ options: reconnect, ...(clock === undefined ? {} : { clock }) }),
    newKey: () => ids.newId('call'),
  };
  const devices = createClient(DeviceService, transport);
  const status = createClient(StatusService, transport);
  const runs = createRuns(deps.rpc, deps);
  function close(): void {
    closing.abort();
    channel.close();
  }
  return {
    startRun: ({ workspace = '', session = '', surface = '' } = {}) =>
      openRun({ kind: 'start', workspace, session, surface }, deps),
    collect: (callId, options) => collectCall(callId, options, deps),
    async resumeRun(id, afterSequence = 0) {
      const place = await placeOfRun(id, deps);
      return openRun({ kind: 'resume', ...place, after: BigInt(afterSequence) }, deps);
    },
    tools: createTools(createClient(ToolService, transport)),
    runs,
    approvals: createApprovals(createClient(ApprovalService, transport), deps),
    grants: createGrants(createClient(GrantService, transport)),
    policies: createPolicies(createClient(PolicyService, transport)),
    journal: createJournal(createClient(JournalService, transport), deps),
    workspaces: createWorkspaces(createClient(WorkspaceService, transport)),
    devices: createDevices(devices, closing.signal),
    tokens: createTokens(devices),
    status: async () => toStatus(await ask(status.getStatus({}))),
    async shutdown(how = 'gracefully') {
      await ask(status.shutdown({ now: how === 'now' }));
    },
    close,
    [Symbol.dispose]: close,
  };
}
