import type { Client as RpcClient } from '@connectrpc/connect';
import type { RunService, CallSummary as WireCall, RunSummary as WireRun } from '@palyra/api';
import type { JsonValue } from '@palyra/primitives';
import { ClientError } from '../client-error.ts';
import type { RunDeps } from '../run/open-run.ts';
import type { RunEvent } from '../run/run-event.ts';
import {
  type CallApproval,
  type CallDecision,
  type CallOutcome,
  DECISIONS,
  OUTCOMES,
  type ToolCallResult,
  toApproval,
  toToolCallResult,
} from '../run/tool-call-result.ts';
import { type WatchOptions, watchRun } from '../run/watch-run.ts';
import { json, number, said, text, time } from '../wire/plain.ts';
import { ask, collect } from './call.ts';

export interface RunSummary {
  readonly run_id: string;
  readonly session_id: string;
  readonly principal: string;
  readonly workspace_root: string;
  /** `open` or `ended`. */
  readonly state: string;
  readonly calls: number;
  readonly refused: number;
  readonly started_at?: string;
  readonly ended_at?: string;
}

export interface CallSummary {
  readonly call_id: string;
  readonly tool: string;
  /** What it was about, in a line, made safe to show. */
  readonly summary: string;
  readonly decision?: CallDecision['kind'];
  /** What a human said, where policy asked for it; absent while nobody has. */
  readonly approval?: CallApproval;
  /** Absent while it has not ended. */
  readonly outcome?: CallOutcome['kind'];
  readonly code?: string;
  readonly proposed_at?: string;
  readonly took_ms: number;
}

/** Everything that is known of one call. */
export interface CallRecord {
  readonly result: ToolCallResult;
  readonly principal: string;
  /** Absent when it was erased. */
  readonly input?: JsonValue;
  /** Policy texts, bytes that were bound, the sandbox as measured, the proof. */
  readonly record?: JsonValue;
  readonly proposed_at?: string;
}

export interface UndoQuery {
  /** The newest one of the workspace that changed files, unless told. */
  readonly run?: string;
  readonly call?: string;
  readonly workspace?: string;
  /** Only say what would be put back. */
  readonly dryRun?: boolean;
}

export interface Undone {
  readonly run_id: string;
  readonly files: readonly {
    readonly path: string;
    /** `restored`, `removed` or `skipped`. */
    readonly result: string;
    readonly reason?: string;
  }[];
}

export interface Runs {
  /** Newest first. */
  list(options?: {
    readonly principal?: string;
    readonly openOnly?: boolean;
    readonly limit?: number;
  }): Promise<readonly RunSummary[]>;
  /** By its id or the last 4 or more characters of it. */
  get(id: string): Promise<{ readonly run: RunSummary; readonly calls: readonly CallSummary[] }>;
  getCall(id: string): Promise<CallRecord>;
  /** Of any run that the caller may see. */
  watch(id: string, options?: WatchOptions): AsyncIterable<RunEvent>;
  cancel(id: string): Promise<void>;
  /** Puts files back. */
  undo(query: UndoQuery): Promise<Undone>;
  /** Cancels the open runs of one agent, or of all. Resolves to their ids. */
  stopAgents(principal?: string): Promise<readonly string[]>;
}

export function createRuns(rpc: RpcClient<typeof RunService>, deps: RunDeps): Runs {
  return {
    list({ principal = '', openOnly = false, limit } = {}) {
      return collect(async (pageToken, pageSize) => {
        const { runs, nextPageToken } = await rpc.listRuns({ principal, openOnly, limit: pageSize, pageToken });
        return { items: runs.map(toRunSummary), nextPageToken };
      }, limit);
    },
    async get(runId) {
      const { run, calls } = await ask(rpc.getRun({ runId }));
      if (run === undefined) throw new ClientError('client.protocol', 'palyrad told no run.');
      return { run: toRunSummary(run), calls: calls.map(toCallSummary) };
    },
    async getCall(callId) {
      const { result, principal, inputJson, recordJson, proposedAt } = await ask(rpc.getCall({ callId }));
      if (result === undefined) throw new ClientError('client.protocol', 'palyrad told no call.');
      const texts = { input: json(inputJson), record: json(recordJson) };
      return said<CallRecord>({ result: toToolCallResult(result), principal, ...texts, proposed_at: time(proposedAt) });
    },
    watch: (id, options = {}) => watchRun(id, options, deps),
    async cancel(runId) {
      await ask(rpc.cancelRun({ runId }));
    },
    async undo({ run = '', call = '', workspace = '', dryRun = false }) {
      const { runId, files } = await ask(rpc.undoRun({ runId: run, callId: call, workspace, dryRun }));
      const told = files.map(({ path, result, reason }) =>
        said<Undone['files'][number]>({ path, result, reason: text(reason) }),
      );
      return { run_id: runId, files: told };
    },
    async stopAgents(principal = '') {
      const { runIds } = await ask(rpc.stopAgents({ principal }));
      return runIds;
    },
  };
}

function toRunSummary(wire: WireRun): RunSummary {
  return said<RunSummary>({
    run_id: wire.runId,
    session_id: wire.sessionId,
    principal: wire.principal,
    workspace_root: wire.workspaceRoot,
    state: wire.state,
    calls: wire.calls,
    refused: wire.refused,
    started_at: time(wire.startedAt),
    ended_at: time(wire.endedAt),
  });
}

function toCallSummary(wire: WireCall): CallSummary {
  return said<CallSummary>({
    call_id: wire.callId,
    tool: wire.tool,
    summary: wire.summary,
    decision: DECISIONS[wire.decision],
    approval: wire.approval === undefined ? undefined : toApproval(wire.approval),
    outcome: OUTCOMES[wire.outcome],
    code: text(wire.code),
    proposed_at: time(wire.proposedAt),
    took_ms: number(wire.tookMs),
  });
}
