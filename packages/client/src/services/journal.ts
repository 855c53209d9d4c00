import type { Client as RpcClient } from '@connectrpc/connect';
import type { JournalService, JournalEntry as WireEntry } from '@palyra/api';
import type { JsonValue } from '@palyra/primitives';
import { type StreamDeps, watchAgain } from '../connection/watch-again.ts';
import { json, number, said, text, time } from '../wire/plain.ts';
import { ask } from './call.ts';

export interface JournalEntry {
  readonly seq: number;
  /** Such as `tool.attested`. */
  readonly kind: string;
  readonly actor: string;
  readonly time?: string;
  readonly run_id?: string;
  readonly call_id?: string;
  readonly data?: JsonValue;
  readonly leaf_sha256: string;
}

export interface EntryFilter {
  /** All unless told. */
  readonly kinds?: readonly string[];
  readonly run?: string;
  readonly call?: string;
}

export interface EntryQuery extends EntryFilter {
  readonly limit?: number;
  /** In the direction below. */
  readonly from?: number;
  readonly newestFirst?: boolean;
}

export interface EntryPage {
  readonly entries: readonly JournalEntry[];
  /** Where the next page begins; absent: there is none. */
  readonly next?: number;
}

export interface Journal {
  query(query?: EntryQuery): Promise<EntryPage>;
  /** From an entry on, or from now on, as they are written, until the signal says so. */
  tail(options?: EntryFilter & { readonly from?: number; readonly signal?: AbortSignal }): AsyncIterable<JournalEntry>;
  /** The newest signed note about the whole log. */
  checkpoint(): Promise<{ readonly note: string; readonly origin: string }>;
  /** Bytes that an entry commits to. */
  body(commitment: string): Promise<Uint8Array>;
}

export function createJournal(rpc: RpcClient<typeof JournalService>, deps: StreamDeps): Journal {
  return {
    async query({ limit = 0, from, newestFirst = false, ...filter } = {}) {
      const answer = await ask(
        rpc.queryEntries({
          filter: toFilter(filter),
          limit,
          newestFirst,
          ...(from === undefined ? {} : { fromSeq: BigInt(from) }),
        }),
      );
      const { nextSeq } = answer;
      const entries = answer.entries.map(toEntry);
      return nextSeq === undefined ? { entries } : { entries, next: number(nextSeq) };
    },
    async *tail({ from, signal: stop, ...filter } = {}) {
      // A place in the log from the beginning: what is written while the connection is lost is told as well.
      let next = from ?? (await endOfLog(rpc));
      const open = (signal: AbortSignal) => {
        return rpc.tailEntries({ filter: toFilter(filter), fromSeq: BigInt(next) }, { signal });
      };
      for await (const told of watchAgain({ open, stop }, deps)) {
        const wire = told.kind === 'told' ? told.message.entry : undefined;
        if (wire === undefined) continue;
        const entry = toEntry(wire);
        if (entry.seq < next) continue;
        next = entry.seq + 1;
        yield entry;
      }
    },
    async checkpoint() {
      const { note, origin } = await ask(rpc.getCheckpoint({}));
      return { note, origin };
    },
    async body(commitment) {
      const { data } = await ask(rpc.getBody({ commitment }));
      return data;
    },
  };
}

async function endOfLog(rpc: RpcClient<typeof JournalService>): Promise<number> {
  const { entries } = await ask(rpc.queryEntries({ limit: 1, newestFirst: true }));
  const [newest] = entries;
  return newest === undefined ? 0 : number(newest.seq) + 1;
}

function toFilter({ kinds = [], run = '', call = '' }: EntryFilter): {
  kinds: string[];
  runId: string;
  callId: string;
} {
  return { kinds: [...kinds], runId: run, callId: call };
}

function toEntry(wire: WireEntry): JournalEntry {
  return said<JournalEntry>({
    seq: number(wire.seq),
    kind: wire.kind,
    actor: wire.actor,
    time: time(wire.time),
    run_id: text(wire.runId),
    call_id: text(wire.callId),
    data: json(wire.dataJson),
    leaf_sha256: wire.leafSha256,
  });
}
