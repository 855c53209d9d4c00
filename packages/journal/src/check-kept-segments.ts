import type { EntryData } from './format/entry-kinds.ts';
import type { ReadJournal } from './raw-rows.ts';
import { numberIn, within } from './store/entry-id.ts';
import { ONLY_RARE, type SegmentRow } from './store/journal-schema.ts';
import type { Finding } from './verify/report.ts';

const ATTEMPTS = 3;

/**
 * Whether the table of segments says what the entries say. SECURITY: T-31 — it decides from where on entries are sealed, and which are
 * archived: one that nobody sealed ends both, and nobody is told.
 */
export async function segmentsEdited(read: ReadJournal, number: number): Promise<Finding | undefined> {
  let said = await segmentsSaid(read, number);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const kept = await segmentsKept(read, number, said.pruned);
    if (said.segments === kept) return undefined;
    const again = await segmentsSaid(read, number);
    if (again.segments === said.segments && again.pruned === said.pruned) {
      const why = 'The segments that are kept beside the log are not those that its entries tell of.';
      return { code: 'head_edited', why };
    }
    // A writer sealed, archived or pruned meanwhile.
    said = again;
  }
  return undefined;
}

interface Said {
  readonly pruned: number;
  /** Spelled out. */
  readonly segments: string;
}

type Segment = Omit<SegmentRow, 'log'>;

async function segmentsSaid(read: ReadJournal, number: number): Promise<Said> {
  const log = await read.selectFrom('journal_logs').select('pruned').where('number', '=', number).executeTakeFirst();
  const rows = await read
    .selectFrom('journal_entries')
    .select(['id', 'kind', 'data'])
    .where('kind', 'in', ['segment.sealed', 'segment.archived'])
    .where(ONLY_RARE)
    .where(within(number))
    .orderBy('id')
    .execute();
  const pruned = log?.pruned ?? 0;
  const sealed = new Map<string, Segment>();
  for (const { id, kind, data } of rows) {
    const { first, next, file } = JSON.parse(data) as Partial<EntryData<'segment.archived'>> & {
      first: number;
      next: number;
    };
    const place = `${first}-${next}`;
    const known = sealed.get(place);
    if (kind === 'segment.sealed') sealed.set(place, { first, next, sealed_by: numberIn(number, id), archive: null });
    else if (known !== undefined) sealed.set(place, { ...known, archive: file ?? null });
  }
  return { pruned, segments: spelled([...sealed.values()].filter(({ next }) => next > pruned)) };
}

/** Of those that were pruned whole neither the entries are left, nor is anything decided by them. */
async function segmentsKept(read: ReadJournal, number: number, pruned: number): Promise<string> {
  const rows = await read
    .selectFrom('journal_segments')
    .select(['first', 'next', 'sealed_by', 'archive'])
    .where('log', '=', number)
    .where('next', '>', pruned)
    .execute();
  return spelled(rows);
}

function spelled(segments: readonly Segment[]): string {
  const lines = segments.map(({ first, next, sealed_by, archive }) => [first, next, sealed_by, archive].join(' '));
  return lines.toSorted().join('\n');
}
