import type { Approvals } from '@palyra/approvals';
import type { Journal, JournalEntry } from '@palyra/journal';
import { type ApprovalId, type Clock, type IdSource, type JsonObject, parseJson } from '@palyra/primitives';
import type { Database } from '@palyra/storage';
import type { Catalog } from '../catalog/create-catalog.ts';
import { GatewayError } from '../gateway-error.ts';
import type { CallRow, GatewaySchema } from '../store/gateway-schema.ts';
import { openLedger } from '../tool-call/call-ledger.ts';
import type { NestedIn, OpenedCall } from '../tool-call/decided-call.ts';
import { isKeptInput, prepareFirst } from '../tool-call/kept-input.ts';
import type { ProposedCall } from '../tool-call/proposed-call.ts';
import { runToolCall, type ToolCallSteps } from '../tool-call/run-tool-call.ts';
import type { ToolCallResult } from '../tool-call/tool-call-result.ts';
import type { OpenRun } from './open-run.ts';
import { createTurns, type Turns } from './turns.ts';

export interface CallsDeps {
  readonly database: Database<GatewaySchema>;
  readonly journal: Journal;
  readonly approvals: Pick<Approvals, 'get'>;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly steps: ToolCallSteps;
}

/** The calls of one run. */
export interface Calls {
  /** By whoever is connected now. */
  call(proposed: ProposedCall, run: OpenRun): Promise<ToolCallResult>;
  settled(): Promise<void>;
}

interface UnderWay {
  readonly proposed: ProposedCall;
  readonly result: Promise<ToolCallResult>;
}

/** A call whose question was open when it was last looked at. */
interface Parked extends Pick<UnderWay, 'proposed'> {
  readonly approvalId: ApprovalId;
  readonly told: ToolCallResult;
}

/** A call for those that it makes. */
interface Parent {
  readonly nestedIn: NestedIn;
  /** Made when the first of them comes: most calls make none. */
  enter(): Entered;
}

interface Entered {
  readonly turns: Turns;
  readonly signals: readonly AbortSignal[];
}

export function createCalls({ id: runId, turns }: Pick<OpenRun, 'id' | 'turns'>, deps: CallsDeps): Calls {
  const { database, journal, catalog, clock, ids, steps } = deps;
  const running = new Set<Promise<unknown>>();
  const byKey = new Map<string, UnderWay>();
  const parents = new Map<string, Parent>();
  const parked = new Map<string, Parked>();

  const inNone: Entered = { turns, signals: [] };
  const parentOf = (parent: string | undefined): Entered & Pick<Parent, 'nestedIn'> => {
    const found = parent === undefined ? undefined : parents.get(parent);
    if (found !== undefined) return { nestedIn: found.nestedIn, ...found.enter() };
    return { nestedIn: parent === undefined ? 'nobody' : 'unknown', ...inNone };
  };
  const start = async (asProposed: ProposedCall, run: OpenRun): Promise<ToolCallResult> => {
    const { nestedIn, turns: ownTurns, signals } = parentOf(asProposed.parent);
    let asked: ApprovalId | undefined;
    const { parent, ...rest } = withPatientListeners(asProposed, (id) => {
      asked = id;
    });
    const proposed = parent === undefined || nestedIn === 'unknown' ? rest : { ...rest, parent };
    const tool = catalog.get(proposed.tool)?.metadata;
    const call: OpenedCall = {
      id: ids.newId('call'),
      run,
      proposed,
      toolName: tool?.name ?? 'unknown',
      input: await prepareFirst(proposed.input, journal.bodies),
      signal: anyOf([run.signal, ...signals, ...(proposed.signal === undefined ? [] : [proposed.signal])]),
      openedAt: clock.now(),
      turns: ownTurns,
      nestedIn,
    };
    let over: AbortController | undefined;
    let entered: Entered | undefined;
    // What it calls waits for one another within its own turn, and ends with it.
    parents.set(call.id, {
      nestedIn: tool?.isParallel === false ? 'alone' : 'shared',
      enter() {
        over ??= new AbortController();
        entered ??= { turns: createTurns(), signals: [call.signal, over.signal] };
        return entered;
      },
    });
    proposed.onEvent?.({ kind: 'accepted', callId: call.id });
    try {
      const result = await runToolCall(call, steps, openLedger(call, journal));
      return asked !== undefined && isPending(result) ? park(proposed, asked, result) : result;
    } finally {
      parents.delete(call.id);
      over?.abort('over');
    }
  };
  const park = (proposed: ProposedCall, approvalId: ApprovalId, result: ToolCallResult): ToolCallResult => {
    const told: ToolCallResult = { ...result, approval: { id: approvalId, outcome: 'pending' } };
    if (proposed.key !== undefined) parked.set(proposed.key, { proposed, approvalId, told });
    return told;
  };
  /** Coming back while nobody has answered is no other call: it is told the same, and nothing more is recorded of it. */
  const stillParked = async (proposed: ProposedCall, key: string): Promise<ToolCallResult | undefined> => {
    const before = parked.get(key);
    if (before === undefined) return undefined;
    if (!isSame(before.proposed, proposed)) throw keyReused();
    const card = await deps.approvals.get(before.approvalId).catch(() => undefined);
    if (card?.state === 'pending') {
      proposed.onEvent?.({ kind: 'repeated', told: null });
      return before.told;
    }
    parked.delete(key);
    return undefined;
  };
  const answeredBefore = async (proposed: ProposedCall, key: string): Promise<ToolCallResult | undefined> => {
    const row = await database.read
      .selectFrom('gateway_calls')
      .selectAll()
      .where('run', '=', runId)
      .where('key', '=', key)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    await requireSame(proposed, row, deps);
    // SECURITY: T-01 — never run again, not even when it is not known what became of it.
    if (row.state === 'executing' || row.result === null) {
      throw new GatewayError('gateway.call_elsewhere', 'A call with this key is under way.');
    }
    proposed.onEvent?.({ kind: 'repeated', told: row.told });
    return toldAgain(row, journal);
  };

  return {
    async call(proposed, run) {
      const { key, isKeyNew } = proposed;
      const before = key === undefined ? undefined : byKey.get(key);
      if (before !== undefined) {
        if (isSame(before.proposed, proposed)) return before.result;
        throw keyReused();
      }
      const result =
        key === undefined || isKeyNew === true
          ? start(proposed, run)
          : stillParked(proposed, key)
              .then((told) => told ?? answeredBefore(proposed, key))
              .then((answered) => answered ?? start(proposed, run));
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

/** SECURITY: T-32 — whether anybody still listens makes no difference to what is done and recorded. */
function withPatientListeners(
  { onEvent, onOutput, ...proposed }: ProposedCall,
  onAsked: (id: ApprovalId) => void,
): ProposedCall {
  let isGone = false;
  return {
    ...proposed,
    onEvent(event) {
      if (event.kind === 'approval_requested') onAsked(event.approvalId as ApprovalId);
      try {
        onEvent?.(event);
      } catch {
        // It is gone; what is told to it is in the journal, too.
      }
    },
    ...(onOutput === undefined
      ? {}
      : {
          async onOutput(stream, bytes) {
            if (isGone) return;
            try {
              await onOutput(stream, bytes);
            } catch {
              isGone = true;
            }
          },
        }),
  };
}

/** Most calls have only that of their run. */
function anyOf(signals: readonly [AbortSignal, ...AbortSignal[]]): AbortSignal {
  return signals.length === 1 ? signals[0] : AbortSignal.any([...signals]);
}

function isPending({ outcome }: ToolCallResult): boolean {
  return outcome.code === 'gateway.approval_pending';
}

function isSame(one: ProposedCall, other: ProposedCall): boolean {
  return one.tool === other.tool && one.input === other.input;
}

async function requireSame(
  { tool, input }: ProposedCall,
  row: CallRow,
  { journal, catalog }: Pick<CallsDeps, 'journal' | 'catalog'>,
): Promise<void> {
  const { bytes } = await journal.bodies.read(row.input);
  if (row.tool !== (catalog.get(tool)?.metadata.name ?? 'unknown') || !isKeptInput(bytes, input)) throw keyReused();
}

function keyReused(): GatewayError {
  return new GatewayError('gateway.key_reused', 'The same key was used for another call of this run.', {
    fix: 'Give every call a key of its own.',
  });
}

async function toldAgain(row: CallRow, journal: Journal): Promise<ToolCallResult> {
  return (await recordedEnd(row, journal)).result;
}

/** What it put out may have been erased since; the rest is as it was told the first time. */
export async function recordedEnd(
  { id, result, output }: CallRow,
  journal: Journal,
): Promise<{ readonly result: ToolCallResult; readonly at: number }> {
  const told = parseJson(result ?? '') as unknown as ToolCallResult;
  const said =
    output === null
      ? {}
      : await journal.bodies
          .read(output)
          .then(asJson)
          .catch(() => ({}));
  const { entries } = await journal.query({ call: id, kinds: ['attestation'], limit: 1 });
  const [attestation] = entries;
  const found = foundIn(attestation);
  return {
    result: {
      ...told,
      outcome: { ...told.outcome, ...said },
      attestation: { ...told.attestation, ...found },
    },
    at: attestation?.time ?? 0,
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

/** Ours, and as large as outputs are. Throws when it was too large to be kept whole. */
function asJson({ bytes }: { readonly bytes: Uint8Array }): JsonObject {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as JsonObject;
}
