import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { JournalEntrySchema, JournalService, EntryFilter as WireFilter } from '@palyra/api';
import type { EntryFilter, EntryKind, Journal, JournalEntry } from '@palyra/journal';
import { fitPage } from '../wire/fit-page.ts';

export interface JournalServiceDeps {
  readonly journal: Journal;
  /** How many bytes of content a message takes. */
  readonly room: number;
}

const DEFAULT_LIMIT = 100;
const MOST = 1_000;

export function createJournalService({ journal, room }: JournalServiceDeps): ServiceImpl<typeof JournalService> {
  const filterOf = async (filter: WireFilter | undefined): Promise<EntryFilter> => {
    const { kinds = [], runId = '', callId = '' } = filter ?? {};
    return {
      // What is no kind is refused by whoever reads.
      ...(kinds.length === 0 ? {} : { kinds: kinds as EntryKind[] }),
      ...(runId === '' ? {} : { run: await journal.find('run', runId) }),
      ...(callId === '' ? {} : { call: await journal.find('call', callId) }),
    };
  };
  return {
    async queryEntries({ filter, limit, fromSeq, newestFirst }) {
      const step = newestFirst ? -1 : 1;
      const page = await journal.query({
        ...(await filterOf(filter)),
        limit: Math.min(limit === 0 ? DEFAULT_LIMIT : limit, MOST),
        order: newestFirst ? 'newest first' : 'oldest first',
        // A cursor stands before the first entry of its page.
        ...(fromSeq === undefined ? {} : { cursor: Number(fromSeq) - step }),
      });
      const shown = fitPage(page.entries.map(wireEntry), room, ({ dataJson }) => ENTRY_BYTES + dataJson.length);
      const last = page.entries[shown.length - 1];
      const hasMore = page.next !== undefined || shown.length < page.entries.length;
      return { entries: [...shown], ...(hasMore && last !== undefined ? { nextSeq: BigInt(last.seq + step) } : {}) };
    },
    async *tailEntries({ filter, fromSeq }, { signal }) {
      const wanted = await filterOf(filter);
      const after = fromSeq === undefined ? await newest(journal) : Number(fromSeq) - 1;
      for await (const entry of journal.tail({ ...wanted, after, signal })) yield { entry: wireEntry(entry) };
    },
    async getCheckpoint() {
      return { note: await journal.checkpoint(), origin: journal.origin };
    },
    async getBody({ commitment, offset }) {
      const { bytes } = await journal.bodies.read(commitment);
      const from = Math.min(Number(offset), bytes.length);
      return { data: new Uint8Array(bytes.subarray(from, from + room)), size: BigInt(bytes.length) };
    },
  };
}

/** What an entry takes besides what it says. */
const ENTRY_BYTES = 512;

async function newest(journal: Journal): Promise<number> {
  const { entries } = await journal.query({ order: 'newest first', limit: 1 });
  return entries[0]?.seq ?? -1;
}

type WireEntry = MessageInitShape<typeof JournalEntrySchema> & { readonly dataJson: string };

function wireEntry({ seq, kind, actor, time, data, hash }: JournalEntry): WireEntry {
  const named = data as { readonly run_id?: unknown; readonly call_id?: unknown };
  return {
    seq: BigInt(seq),
    kind,
    actor,
    time: timestampFromMs(time),
    runId: textOf(named.run_id),
    callId: textOf(named.call_id),
    dataJson: JSON.stringify(data),
    leafSha256: hash,
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
