import type { Approvals } from '@palyra/approvals';
import type { Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type Clock, createIdSource, type IdSource, type RunId, systemClock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { Catalog } from './catalog/create-catalog.ts';
import {
  type ConnectionDecider,
  type ConnectionDeps,
  createConnectionDecider,
} from './connections/decide-connection.ts';
import type { OperatorNetwork } from './connections/operator-network.ts';
import type { FileTools } from './file-tools/create-file-tools.ts';
import { createRedactor, type Redactor } from './redact/create-redactor.ts';
import { createRuns, type RunRequest } from './runs/create-runs.ts';
import type { AdoptedRun, Run } from './runs/own-run.ts';
import { type CallPage, readCall } from './runs/read-call.ts';
import { type CallsPage, listRuns, type RunsQuery, type RunView, type ShownRun, showRun } from './runs/read-runs.ts';
import { type KnownRun, readOpenRuns, readRun, readTold, type ToldCall, type ToldPage } from './runs/read-told.ts';
import { settleInterrupted } from './runs/settle-interrupted.ts';
import { type StoppedRuns, type StopRequest, stopRuns } from './runs/stop-runs.ts';
import { type UndoneRun, type UndoRunRequest, undoRun } from './runs/undo-run.ts';
import type { GatewaySchema } from './store/gateway-schema.ts';
import { createAdmit } from './tool-call/admit.ts';
import { createApprove } from './tool-call/approve.ts';
import { createAttest } from './tool-call/attest.ts';
import { collect } from './tool-call/collect.ts';
import { createDecide } from './tool-call/decide.ts';
import { createExecute } from './tool-call/execute.ts';
import { createLateRecords } from './tool-call/late-records.ts';
import type { Caller } from './tool-call/proposed-call.ts';
import { createRecordIntent, createWithholdIntent } from './tool-call/record-intent.ts';
import type { ToolCallSteps } from './tool-call/run-tool-call.ts';
import type { SeekDeps } from './tool-call/seek-approval.ts';
import { redecideWaiting, type WaitingCalls } from './tool-call/waiting-calls.ts';
import type { ToolCallConfig } from './tool-call-config.ts';
import type { KeptChanges } from './tools/kept-changes.ts';

/** Where calls come in. Runs belong to the credential that began them. */
export interface Gateway {
  /** Throws what the journal throws; then there is no run. */
  startRun(caller: Caller, request: RunRequest): Promise<Run>;
  /** The same run after a reconnect or a restart. Throws `gateway.run_not_found`, also for another credential's. */
  resumeRun(caller: Caller, id: RunId): Promise<Run>;
  /** For an agent in the box that a call of the run is; who it is, palyrad knows by the listener of that box. */
  enterRun(caller: Caller & { readonly isBoxed: true }, id: RunId): Promise<Run>;
  /** For operators: whose it is was looked at by whoever asks. Throws `gateway.run_not_found`, `gateway.run_ended`. */
  adoptRun(id: RunId): Promise<AdoptedRun>;
  /** Runs of this owner that are not over, from before this process, too. */
  openRuns(): Promise<readonly RunId[]>;
  /** What is on record of a run. Throws `gateway.run_not_found`; whose it is must be looked at. */
  run(id: RunId): Promise<KnownRun>;
  /** Results that were told of a run, in order; whose it is must be looked at. */
  told(page: ToldPage): Promise<readonly ToldCall[]>;
  /** Newest first, page by page. Operators and auditors see all, everybody else what is of their own credential. */
  listRuns(by: Caller, query: RunsQuery): Promise<readonly RunView[]>;
  /** A run and its calls, newest first. Throws `gateway.run_not_found`. */
  showRun(by: Caller, id: string, page?: CallsPage): Promise<ShownRun>;
  /** Everything about one call. Throws `gateway.call_not_found`. */
  callOf(by: Caller, id: string): Promise<CallPage>;
  /** Puts files back as they were before a run, or one call of it. Throws `gateway.run_not_found`, `gateway.nothing_kept`. */
  undo(request: UndoRunRequest): Promise<UndoneRun>;
  /** Ends the open runs of a principal, or of everybody, with all that runs in them. Throws `gateway.not_authorized`. */
  stop(request: StopRequest): Promise<StoppedRuns>;
  /** Calls that were under way when this process last ended: attested as `unknown_outcome`. Returns their ids. */
  settleInterrupted(): Promise<readonly string[]>;
  /** Decides anew what humans are being asked. To be called after every change of the policies. */
  policiesChanged(): Promise<void>;
  /** Cancels every run of this process and waits for their calls. */
  close(): Promise<void>;
}

export interface GatewayDeps {
  /** Opened with `GATEWAY_MIGRATIONS` among the others. */
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly approvals: Approvals;
  readonly policy: Pick<ActivePolicies, 'decide' | 'current'>;
  readonly catalog: Catalog;
  readonly config: ToolCallConfig;
  /** Names this process across restarts, so that it finds its open calls again. */
  readonly owner: string;
  readonly unattended?: SeekDeps['unattended'];
  /** Absent: no answer is offered for good. */
  readonly rules?: NonNullable<SeekDeps['rules']>;
  /** What calls may connect to that did not name it; absent: nobody is asked while a call runs. */
  readonly network?: OperatorNetwork;
  /** Where what file tools overwrote is kept; absent: nothing can be undone. */
  readonly kept?: { readonly changes: Pick<KeptChanges, 'undo'>; readonly fileTools: Pick<FileTools, 'undo'> };
  readonly redactor?: Redactor;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { clock = systemClock, redactor = createRedactor(), unattended = 'wait' } = deps;
  const ids = deps.ids ?? createIdSource({ now: clock.now });
  const late = createLateRecords(clock);
  const waiting: WaitingCalls = new Map();
  const all = { ...deps, policies: deps.policy, clock, redactor, unattended, ids, waiting, late };
  const steps: ToolCallSteps = {
    admit: createAdmit(all),
    decide: createDecide(all),
    approve: createApprove(all),
    collect,
    recordIntent: createRecordIntent(all),
    withholdIntent: createWithholdIntent(all),
    execute: createExecute({ clock, ...connectionsOf(all) }),
    attest: createAttest(all),
  };
  const runs = createRuns({ ...all, steps });
  return {
    startRun: (caller, request) => runs.start(caller, request),
    resumeRun: (caller, id) => runs.resume(caller, id),
    enterRun: (caller, id) => runs.enter(caller, id),
    adoptRun: (id) => runs.adopt(id),
    openRuns: () => readOpenRuns(all),
    run: (id) => readRun(id, all),
    told: (page) => readTold(page, all),
    listRuns: (by, query) => listRuns(by, query, all),
    showRun: (by, id, page = {}) => showRun(by, { ...page, id }, all),
    callOf: (by, id) => readCall(by, id, all),
    undo: (request) => undoRun(request, { ...all, alone: runs.alone }),
    stop: (request) => stopRuns(request, { ...all, cancel: runs.cancel }),
    settleInterrupted: () => settleInterrupted(all),
    policiesChanged: () => redecideWaiting(all),
    async close() {
      await runs.close();
      late.close();
    },
  };
}

function connectionsOf(deps: Omit<ConnectionDeps, 'network'> & Pick<GatewayDeps, 'network'>): {
  readonly connections?: ConnectionDecider;
} {
  const { network } = deps;
  return network === undefined ? {} : { connections: createConnectionDecider({ ...deps, network }) };
}
