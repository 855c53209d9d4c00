import type { Journal } from '@palyra/journal';
import type { ActivePolicies } from '@palyra/policy';
import { type CallId, type Clock, canonicalJson, type JsonValue, type RunId } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { FileTools } from '../file-tools/create-file-tools.ts';
import { GatewayError } from '../gateway-error.ts';
import type { GatewaySchema } from '../store/gateway-schema.ts';
import type { Caller } from '../tool-call/proposed-call.ts';
import type { KeptChanges, UndoResult } from '../tools/kept-changes.ts';
import { findRun } from './find-run.ts';

export interface UndoRunRequest {
  readonly run: RunId;
  /** Only what this call did. */
  readonly call?: CallId;
  readonly by: Caller;
  readonly signal?: AbortSignal;
}

export interface UndoneRun {
  /** `stopped`: calls after the one that is named are undone, it and those before are not. */
  readonly kind: UndoResult['kind'];
  readonly restored: readonly UndoneFile[];
  readonly skipped: readonly (UndoneFile & { readonly reason: 'changed_since' })[];
  readonly stopped?: {
    readonly callId: string;
    readonly code: string;
    readonly message: string;
    readonly fix: string | undefined;
  };
}

export interface UndoneFile {
  readonly callId: string;
  /** Relative to the workspace. */
  readonly path: string;
}

export interface UndoDeps {
  readonly database: Pick<Database<GatewaySchema>, 'read'>;
  readonly journal: Journal;
  readonly policies: Pick<ActivePolicies, 'decide'>;
  readonly clock: Clock;
  /** Absent: nothing is kept here. */
  readonly kept?: { readonly changes: Pick<KeptChanges, 'undo'>; readonly fileTools: Pick<FileTools, 'undo'> };
  /** While no call of the run is under way. */
  alone<Made>(run: string, act: () => Promise<Made>): Promise<Made>;
}

/** Puts back what file tools overwrote. For the credential of the run and for operators; files that changed since stay. */
export async function undoRun({ run, call, by, signal }: UndoRunRequest, deps: UndoDeps): Promise<UndoneRun> {
  const { journal, kept } = deps;
  // SECURITY: T-41 — changing files in the name of a run takes what ending it takes.
  const row = await findRun(run, by, { ...deps, action: 'run.cancel' });
  if (kept === undefined) throw new GatewayError('gateway.nothing_kept', 'Nothing of the run is kept here.');
  const named = { run_id: row.id, session_id: row.session, principal: row.principal };
  const about = { ...named, ...(call === undefined ? {} : { call_id: call }) };
  // SECURITY: T-32 — on record before a file is touched, and after it what became of each.
  const begun = await journal.append(by.actor, [{ kind: 'run.undo', data: { ...about, stage: 'begun' } }]);
  const seq = begun.kind === 'appended' ? begun.entries[0]?.seq : undefined;
  const result = await deps.alone(row.id, () =>
    kept.changes.undo({
      runId: row.id,
      ...(call === undefined ? {} : { callId: call }),
      fileTools: kept.fileTools,
      conflicts: 'skip',
      ...(signal === undefined ? {} : { signal }),
    }),
  );
  const undone = undoneOf(result);
  await journal.append(by.actor, [
    {
      kind: 'run.undo',
      data: {
        ...about,
        stage: 'ended',
        ...(seq === undefined ? {} : { begun: seq }),
        outcome: undone.kind,
        ...(undone.stopped === undefined ? {} : { code: undone.stopped.code }),
        restored: undone.restored.length,
        skipped: undone.skipped.length,
        files: await journal.bodies.prepare(canonicalJson(undone as unknown as JsonValue)),
      },
    },
  ]);
  return undone;
}

function undoneOf(result: UndoResult): UndoneRun {
  const restored = result.calls.flatMap(({ callId, restored: paths }) => paths.map((path) => ({ callId, path })));
  const skipped = result.calls.flatMap(({ callId, conflicts }) =>
    conflicts.map((path) => ({ callId, path, reason: 'changed_since' as const })),
  );
  if (result.kind === 'undone') return { kind: 'undone', restored, skipped };
  const { at, code, message, fix } = result;
  return { kind: 'stopped', restored, skipped, stopped: { callId: at, code, message, fix } };
}
