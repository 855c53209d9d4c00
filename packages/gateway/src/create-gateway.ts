import type { Approvals } from '@palyra/approvals';
import type { Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type Clock, createIdSource, type IdSource, type RunId, systemClock } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { Catalog } from './catalog/create-catalog.ts';
import { createRedactor, type Redactor } from './redact/create-redactor.ts';
import { type AdoptedRun, createRuns, type Run, type RunRequest } from './runs/create-runs.ts';
import { type KnownRun, readOpenRuns, readRun, readTold, type ToldCall, type ToldPage } from './runs/read-told.ts';
import { settleInterrupted } from './runs/settle-interrupted.ts';
import type { GatewaySchema } from './store/gateway-schema.ts';
import { createAdmit } from './tool-call/admit.ts';
import { type ApproveDeps, createApprove } from './tool-call/approve.ts';
import { createAttest } from './tool-call/attest.ts';
import { createDecide } from './tool-call/decide.ts';
import { createExecute } from './tool-call/execute.ts';
import type { Caller } from './tool-call/proposed-call.ts';
import { createRecordIntent } from './tool-call/record-intent.ts';
import type { ToolCallSteps } from './tool-call/run-tool-call.ts';
import { redecideWaiting } from './tool-call/waiting-calls.ts';
import type { ToolCallConfig } from './tool-call-config.ts';

/** Where calls come in. Runs belong to the credential that began them. */
export interface Gateway {
  /** Throws what the journal throws; then there is no run. */
  startRun(caller: Caller, request: RunRequest): Promise<Run>;
  /** The same run after a reconnect or a restart. Throws `gateway.run_not_found`, also for another credential's. */
  resumeRun(caller: Caller, id: RunId): Promise<Run>;
  /** For operators: whose it is was looked at by whoever asks. Throws `gateway.run_not_found`, `gateway.run_ended`. */
  adoptRun(id: RunId): Promise<AdoptedRun>;
  /** Runs of this owner that are not over, from before this process, too. */
  openRuns(): Promise<readonly RunId[]>;
  /** What is on record of a run. Throws `gateway.run_not_found`; whose it is must be looked at. */
  run(id: RunId): Promise<KnownRun>;
  /** Results that were told of a run, in order; whose it is must be looked at. */
  told(page: ToldPage): Promise<readonly ToldCall[]>;
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
  readonly unattended?: ApproveDeps['unattended'];
  readonly redactor?: Redactor;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { clock = systemClock, redactor = createRedactor(), unattended = 'wait' } = deps;
  const ids = deps.ids ?? createIdSource({ now: clock.now });
  const all = { ...deps, clock, redactor, unattended, ids, waiting: new Map() };
  const steps: ToolCallSteps = {
    admit: createAdmit(all),
    decide: createDecide(all),
    approve: createApprove(all),
    recordIntent: createRecordIntent(all),
    execute: createExecute(all),
    attest: createAttest(all),
  };
  const runs = createRuns({ ...all, steps });
  return {
    startRun: (caller, request) => runs.start(caller, request),
    resumeRun: (caller, id) => runs.resume(caller, id),
    adoptRun: (id) => runs.adopt(id),
    openRuns: () => readOpenRuns(all),
    run: (id) => readRun(id, all),
    told: (page) => readTold(page, all),
    settleInterrupted: () => settleInterrupted(all),
    policiesChanged: () => redecideWaiting(all),
    close: () => runs.close(),
  };
}
