import { canonicalJson, type JsonValue } from '@palyra/primitives';
import type { ReadQueries } from '@palyra/storage';
import {
  newestCosigned,
  newestStoredCheckpoint,
  type StoredCheckpoint,
  storedCheckpoint,
} from './cosigned-checkpoint.ts';
import { currentLog } from './create-log.ts';
import { createExportedContent, type ExportedContent } from './exported-content.ts';
import { bytesOfHex, hexOf } from './format/bytes.ts';
import { JournalError } from './journal-error.ts';
import { rootVkey } from './keys/journal-keys.ts';
import { type EntryFilter, queryEntries } from './query-entries.ts';
import { within } from './store/entry-id.ts';
import type { JournalSchema, LogRow } from './store/journal-schema.ts';
import { createTreeProofs } from './tree-proofs.ts';
import {
  type BodyItem,
  EXPORT_FORMAT,
  type RangeHeader,
  type SelectionHeader,
  writeExportLine,
} from './verify/export-format.ts';
import type { WrittenEntry } from './verify/written-log.ts';
import { hashBefore, keysBefore, provenEntry, writtenEntry } from './written-parts.ts';

export interface ExportDeps {
  readonly read: ReadQueries<JournalSchema>;
  readonly bodyDirectory: string | undefined;
}

export interface ExportOptions {
  /** Absent: the one that is being written. */
  readonly log?: LogRow;
  /** With it, only the entries that match, each with a proof of its own; else all from a place on. */
  readonly filter?: EntryFilter;
  /** The first entry; those that were pruned are not here any more. */
  readonly from?: number;
  /** The entry after the last, which must be the size of a checkpoint. Absent: of the newest. */
  readonly to?: number;
  readonly bodies: boolean;
}

/**
 * The lines of an export, each with its newline; a page of entries is in memory at a time. What is appended meanwhile is
 * not in it. Throws `journal.no_log`, `journal.not_found` when entries are missing, and as reading bodies does.
 */
export async function* writeExport(deps: ExportDeps, options: ExportOptions): AsyncGenerator<string> {
  const log = options.log ?? (await currentLog(deps));
  if (log === undefined) throw new JournalError('journal.no_log', 'There is no log to export.');
  const place: Place = {
    ...deps,
    log,
    bodies: options.bodies,
    content: createExportedContent({ ...deps, log: log.number }),
  };
  const end =
    options.to === undefined
      ? await newestStoredCheckpoint(deps.read, log.number)
      : await checkpointAt(options.to, place);
  const first = options.from ?? log.pruned;
  if (options.filter === undefined) yield* writeRange({ first, end }, place);
  else yield* writeSelection({ first, end, filter: options.filter }, place);
}

interface Place extends ExportDeps {
  readonly log: LogRow;
  readonly bodies: boolean;
  readonly content: ExportedContent;
}

interface Range {
  readonly first: number;
  readonly end: StoredCheckpoint;
}

async function checkpointAt(size: number, { read, log }: Place): Promise<StoredCheckpoint> {
  const found = await storedCheckpoint(read, { log: log.number, size });
  if (found !== undefined) return found;
  throw new JournalError('journal.not_found', `There is no checkpoint of size ${size}.`);
}

const PAGE = 256;

async function* writeRange({ first, end }: Range, place: Place): AsyncGenerator<string> {
  if (first < place.log.pruned || first > end.size) throw missing(first);
  yield writeExportLine(await rangeHeader({ first, end }, place));
  const base = first === 0 ? undefined : await storedCheckpoint(place.read, { log: place.log.number, size: first });
  if (base !== undefined) yield checkpointLine(base);
  for (let from = first; from < end.size; from += PAGE) {
    yield* writePage({ from, to: Math.min(from + PAGE, end.size) }, place);
  }
  yield writeExportLine({ type: 'end', size: end.size, entries: end.size - first });
}

async function* writePage(
  { from, to }: { readonly from: number; readonly to: number },
  place: Place,
): AsyncGenerator<string> {
  const { read, log } = place;
  const rows = await read
    .selectFrom('journal_entries')
    .selectAll()
    .where(within(log.number, from, to))
    .orderBy('id')
    .execute();
  const checkpoints = await read
    .selectFrom('journal_checkpoints')
    .select(['size', 'note'])
    .where(within(log.number, from + 1, to + 1))
    .execute();
  const bySize = new Map(checkpoints.map((checkpoint) => [checkpoint.size, checkpoint]));
  for (let seq = from; seq < to; seq += 1) {
    const row = rows[seq - from];
    if (row?.seq !== seq) throw missing(seq);
    const entry = writtenEntry(row);
    yield* snapshotLines(entry, place);
    yield writeExportLine({ type: 'entry', ...entry, ...(await bodiesOf(entry, place)) });
    const checkpoint = bySize.get(seq + 1);
    if (checkpoint !== undefined) yield checkpointLine(checkpoint);
  }
}

async function rangeHeader({ first, end }: Range, { read, log, bodies }: Place): Promise<RangeHeader> {
  const { roots } = await createTreeProofs(read, log.number).frontier(first);
  return {
    ...headerOf(log),
    kind: 'range',
    bodies,
    keys: await keysBefore(read, log, first),
    end: end.size,
    base: {
      size: first,
      previous: hexOf(await hashBefore(read, { log: log.number, seq: first })),
      frontier: roots.map(hexOf),
    },
  };
}

interface Selection extends Range {
  readonly filter: EntryFilter;
}

async function* writeSelection({ first, end, filter }: Selection, place: Place): AsyncGenerator<string> {
  const { read, log } = place;
  yield writeExportLine(await selectionHeader({ end, filter }, place));
  let entries = 0;
  for (let cursor: number | undefined = first - 1; cursor !== undefined; ) {
    const page = await queryEntries(read, log, { ...filter, cursor, limit: PAGE });
    for (const { seq, time, actor, kind, version, data, hash } of page.entries) {
      if (seq >= end.size) break;
      // In the one spelling that was hashed: reading it refused any other.
      const entry = { seq, time, actor, kind, version, data: canonicalJson(data as unknown as JsonValue), hash };
      yield* snapshotLines(entry, place);
      const proven = await provenEntry(entry, { log: log.number, size: end.size }, read);
      yield writeExportLine({ type: 'entry', ...proven, ...(await bodiesOf(entry, place)) });
      entries += 1;
    }
    cursor = page.next;
  }
  yield writeExportLine({ type: 'end', size: end.size, entries });
}

async function selectionHeader(
  { end, filter }: Pick<Selection, 'end' | 'filter'>,
  { read, log, bodies }: Place,
): Promise<SelectionHeader> {
  const cosigned = await newestCosigned(read, { log: log.number, covering: 1 });
  const witnessed =
    cosigned === undefined || cosigned.size > end.size
      ? {}
      : {
          witnessed: {
            checkpoint: cosigned.note,
            proof: (await createTreeProofs(read, log.number).consistency(cosigned.size, end.size)).map(hexOf),
          },
        };
  return {
    ...headerOf(log),
    kind: 'selection',
    bodies,
    keys: await keysBefore(read, log, end.size),
    filter: writtenFilter(filter),
    checkpoint: end.note,
    ...witnessed,
  };
}

function writtenFilter(filter: EntryFilter): Readonly<Record<string, string>> {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, Array.isArray(value) ? value.join(' ') : String(value)]),
  );
}

function headerOf({ origin, root_key }: LogRow) {
  const rootKey = bytesOfHex(root_key) ?? new Uint8Array();
  return { type: 'header', format: EXPORT_FORMAT, origin, root_key: rootVkey(rootKey) } as const;
}

async function* snapshotLines(entry: WrittenEntry, { content }: Place): AsyncGenerator<string> {
  for await (const line of content.snapshotsFor(entry)) yield writeExportLine(line);
}

async function bodiesOf(
  entry: WrittenEntry,
  { bodies, content }: Place,
): Promise<{ readonly bodies?: readonly BodyItem[] }> {
  const items = bodies ? await content.bodiesOf(entry) : undefined;
  return items === undefined ? {} : { bodies: items };
}

function checkpointLine({ size, note }: StoredCheckpoint): string {
  return writeExportLine({ type: 'checkpoint', size, note });
}

function missing(seq: number): JournalError {
  return new JournalError('journal.not_found', `Entry ${seq} is not in the journal.`, {
    fix: 'If it was pruned, look in the archive; else run `palyra verify` on this home.',
  });
}
