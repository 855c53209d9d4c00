import type { Journal, JournalEntry } from '@palyra/journal';
import { type Clock, type IdSource, type JsonObject, parseJson } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { Catalog } from '../catalog/create-catalog.ts';
import { GatewayError } from '../gateway-error.ts';
import type { CallRow, GatewaySchema } from '../store/gateway-schema.ts';
import { openLedger } from '../tool-call/call-ledger.ts';
import type { OpenedCall } from '../tool-call/decided-call.ts';
import type { ProposedCall } from '../tool-call/proposed-call.ts';
import { runToolCall, type ToolCallSteps } from '../tool-call/run-tool-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import type { OpenRun } from './open-run.ts';

export interface CallsDeps {
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly steps: ToolCallSteps;
}

/** The calls of one run. */
export interface Calls {
  call(proposed: ProposedCall): Promise<ToolCallResult>;
  settled(): Promise<void>;
}

interface UnderWay {
  readonly proposed: ProposedCall;
  readonly result: Promise<ToolCallResult>;
}

export function createCalls(run: OpenRun, deps: CallsDeps): Calls {
  const { database, journal, catalog, clock, ids, steps } = deps;
  const running = new Set<Promise<unknown>>();
  const byKey = new Map<string, UnderWay>();

  /** As it is recorded: of what is not in the catalogue there is one name. */
  const nameOf = ({ tool }: ProposedCall) => catalog.get(tool)?.metadata.name ?? 'unknown';
  const start = async (proposed: ProposedCall): Promise<ToolCallResult> => {
    const call: OpenedCall = {
      id: ids.newId('call'),
      run,
      proposed,
      toolName: nameOf(proposed),
      input: await journal.bodies.prepare(proposed.input),
      signal: proposed.signal === undefined ? run.signal : AbortSignal.any([run.signal, proposed.signal]),
      openedAt: clock.now(),
    };
    proposed.onEvent?.({ kind: 'accepted', callId: call.id });
    return runToolCall(call, steps, openLedger(call, journal));
  };
  const answeredBefore = async (proposed: ProposedCall, key: string): Promise<ToolCallResult | undefined> => {
    const row = await database.read
      .selectFrom('gateway_calls')
      .selectAll()
      .where('run', '=', run.id)
      .where('key', '=', key)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { bytes } = await journal.bodies.read(row.input);
    if (row.tool !== nameOf(proposed) || !Buffer.from(proposed.input).equals(bytes)) throw keyReused();
    // SECURITY: T-01 — never run again, not even when it is not known what became of it.
    if (row.state === 'executing' || row.result === null) {
      throw new GatewayError('gateway.call_elsewhere', 'A call with this key is under way.');
    }
    return toldAgain(row, journal);
  };

  return {
    async call(proposed) {
      const { key, parent } = proposed;
      // SECURITY: T-10, T-31 — else anybody could run beside a call that is alone, and have a false origin attested.
      if (parent !== undefined && !run.turns.isActing(parent)) {
        throw new GatewayError('gateway.parent_not_running', 'The call that is named as the parent is not running.', {
          fix: 'Only what a running call proposes has a parent; leave it away otherwise.',
        });
      }
      const before = key === undefined ? undefined : byKey.get(key);
      if (before !== undefined) {
        if (isSame(before.proposed, proposed)) return before.result;
        throw keyReused();
      }
      const result =
        key === undefined
          ? start(proposed)
          : answeredBefore(proposed, key).then((answered) => answered ?? start(proposed));
      if (key !== undefined) byKey.set(key, { proposed, result });
      running.add(result);
      try {
        return await result;
      } finally {
        running.delete(result);
        if (key !== undefined) byKey.delete(key);
      }
    },
    settled: async () => void (await Promise.allSettled(running)),
  };
}

function isSame(one: ProposedCall, other: ProposedCall): boolean {
  return one.tool === other.tool && one.input === other.input;
}

function keyReused(): GatewayError {
  return new GatewayError('gateway.key_reused', 'The same key was used for another call of this run.', {
    fix: 'Give every call a key of its own.',
  });
}

/** What it put out may have been erased since; the rest is as it was told the first time. */
async function toldAgain({ id, result, output }: CallRow, journal: Journal): Promise<ToolCallResult> {
  const told = parseJson(result ?? '') as unknown as ToolCallResult;
  const said = output === null ? {} : await journal.bodies.read(output).then(asJson, () => ({}));
  const { entries } = await journal.query({ call: id, kinds: ['attestation'], limit: 1 });
  const [attestation] = entries;
  return {
    ...told,
    outcome: { ...told.outcome, ...said },
    attestation: { ...told.attestation, ...foundIn(attestation) },
  };
}

function foundIn(entry: JournalEntry | undefined) {
  if (entry?.kind !== 'attestation') {
    throw new GatewayError('gateway.fault', 'A call has ended, and its attestation is not in the journal.', {
      fix: '`palyra verify` says what is missing.',
    });
  }
  const { attestation_id, execution } = entry.data;
  return { attestation_id, execution_sha256: execution, journal_seq: entry.seq };
}

function asJson({ bytes }: { readonly bytes: Uint8Array }): JsonObject {
  return parseJson(Buffer.from(bytes).toString('utf8')) as JsonObject;
}
