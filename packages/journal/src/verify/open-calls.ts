import type { TypedEntry } from '../format/entry.ts';
import { typed } from './check-erasures.ts';
import { entriesBetween } from './find-records.ts';
import type { EntryRecord, LogSource } from './log-source.ts';

/** What the chain says about one call up to its attestation. */
export interface CallTrace {
  /** Where its decisions and its intent stand: one of these is what the attestation must point at. */
  readonly anchors: readonly CallAnchor[];
  readonly input?: string;
  readonly outcome?: string;
  readonly output?: string;
  /** It was begun or refused, so an attestation is to come. */
  readonly isDue?: boolean;
}

export interface CallAnchor {
  readonly kind: 'intent' | 'decision';
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly snapshot: string;
}

/** Calls that have begun and are not attested. As many as can be open at a time are remembered, not all there ever were. */
export interface OpenCalls {
  note(entry: TypedEntry, at: Pick<CallAnchor, 'seq' | 'hash'>): void;
  /** Ends a call. `unknown`: it never began here, or was attested before; or it was forgotten, and `lookBack` finds out. */
  take(callId: string): CallTrace | 'unknown';
  /** Whether a call whose anchor stands there may be one that is not remembered. */
  mayBeForgotten(anchorSeq: number): boolean;
  /** A forgotten call turned out to be attested. */
  recalled(trace: CallTrace): void;
  /** How many calls an attestation is still to come for. */
  unattested(): number;
}

const REMEMBERED_CALLS = 20_000;
const REMEMBERED_ANCHORS = 64;

/** Entries before `from` are not going to be noted. */
export function createOpenCalls(from: number, remembered: number = REMEMBERED_CALLS): OpenCalls {
  const calls = new Map<string, CallTrace>();
  let forgottenUpTo = from - 1;
  let forgottenDue = 0;
  // Many at a time: a map finds its oldest key by passing over all that were taken out before it.
  const atATime = Math.max(1, Math.floor(remembered / 16));
  const forgetOldest = () => {
    let left = atATime;
    for (const [id, { isDue }] of calls) {
      calls.delete(id);
      if (isDue === true) forgottenDue += 1;
      left -= 1;
      if (left === 0) return;
    }
  };
  return {
    note(entry, at) {
      if (!('call_id' in entry.data) || entry.data.call_id === undefined) return;
      const id = entry.data.call_id;
      const known = calls.get(id);
      const trace = traceWith(known ?? { anchors: [] }, entry, at);
      if (trace === undefined) return;
      calls.set(id, trace);
      if (calls.size <= remembered) return;
      forgetOldest();
      // Entries of that call which are still to come will make a new trace, without what came before.
      forgottenUpTo = at.seq;
    },
    take(id) {
      const trace = calls.get(id);
      calls.delete(id);
      return trace === undefined || trace.anchors.length === 0 ? 'unknown' : trace;
    },
    mayBeForgotten: (anchorSeq) => anchorSeq <= forgottenUpTo,
    recalled({ isDue, anchors }) {
      if (isDue === true && anchors.every(({ seq }) => seq >= from)) forgottenDue = Math.max(0, forgottenDue - 1);
    },
    unattested: () => [...calls.values()].filter(({ isDue }) => isDue === true).length + forgottenDue,
  };
}

function traceWith(
  trace: CallTrace,
  { kind, data }: TypedEntry,
  { seq, hash }: Pick<CallAnchor, 'seq' | 'hash'>,
): CallTrace | undefined {
  if (kind === 'proposal') return { ...trace, input: data.input };
  if (kind === 'outcome') {
    return { ...trace, outcome: data.outcome, ...(data.output === undefined ? {} : { output: data.output }) };
  }
  if (kind !== 'decision' && kind !== 'intent') return undefined;
  // A copy: the hash may be a view of a page that can otherwise be let go.
  const anchor: CallAnchor = { kind, seq, hash: hash.slice(), snapshot: data.policy_snapshot };
  const before = trace.anchors;
  const anchors = before.length === 0 ? [anchor] : [...before.slice(1 - REMEMBERED_ANCHORS), anchor];
  return kind === 'intent' || data.decision === 'deny' ? { ...trace, anchors, isDue: true } : { ...trace, anchors };
}

export interface LookBack {
  readonly callId: string;
  /** Where its anchor is said to stand. */
  readonly from: number;
  /** Where the attestation stands. */
  readonly to: number;
}

/** What the log says about a forgotten call, read again from its anchor on; `attested` when it has an attestation already. */
export async function lookBack(
  source: Pick<LogSource, 'records'>,
  { callId, from, to }: LookBack,
): Promise<CallTrace | 'attested' | 'unknown'> {
  let trace: CallTrace = { anchors: [] };
  for await (const record of entriesBetween(source, from, to)) {
    const entry = entryOfCall(record, callId);
    if (entry === undefined) continue;
    if (entry.kind === 'attestation') return 'attested';
    trace = traceWith(trace, entry, { seq: record.entry.seq, hash: record.hash }) ?? trace;
  }
  return trace.anchors.length === 0 ? 'unknown' : trace;
}

function entryOfCall(record: EntryRecord, callId: string): TypedEntry | undefined {
  // Reading each entry in full would take long where the call began long ago.
  if (!record.entry.data.includes(callId)) return undefined;
  const entry = typed(record);
  return entry !== undefined && 'call_id' in entry.data && entry.data.call_id === callId ? entry : undefined;
}
